"""Columns of an evaluation: which heads answer for which types of which corpus.

By default a corpus is scored with the head that was trained on it, and also with every head that was trained on another corpus whose types
mean about the same (`biomux.corpora.cross`). A type map overrides both.

Heads that do not tag (classes, numbers, relations, answers) are scored on the corpus that they were trained on; on another one, if they are chosen by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from biomux.corpora import cross, own, view
from biomux.corpora.corpus import types_of
from biomux.errors import CorpusError, UsageError, did_you_mean
from biomux.scoring import mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from biomux.evaluation.model_heads import EvaluatedHead
    from biomux.scoring.mapping import TypeMap

ALL = "all"
TEST = "test"
WHOLE = "train+devel"
"""All documents of the user's own data, if they are not divided into parts: the development part was cut from them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: documents of a corpus, some heads, and how their types meet. `plain`: the model's plain types instead of heads.

    `tags`: whether spans are scored, or else the answers of the head's task.
    """

    name: str
    corpus: str
    split: str
    heads: tuple[str, ...]
    types: TypeMap
    scheme: str
    cross: bool = False
    plain: tuple[str, ...] = ()
    kind: str = "tagging"
    tags: bool = True

    @property
    def base(self) -> str:
        """The corpus without the brackets of a view."""
        return view.parse(self.corpus)[0]

    @property
    def called(self) -> str:
        """What the corpus is called."""
        return own.short_name(self.base)

    @property
    def signed(self) -> str:
        """What a signature calls the corpus. The path of the user's own data is private, and the signature has their checksum anyway."""
        return self.corpus if own.of_spec(self.base) is None else self.called


def plan(
    heads: Sequence[EvaluatedHead],
    corpora: Sequence[str],
    *,
    split: str | None = None,
    chosen: Sequence[str] | None = None,
    plain: Sequence[str] = (),
    types: TypeMap | None = None,
    with_cross: bool = True,
    known: Sequence[str] = (),
) -> list[Column]:
    """The columns for some corpora ("all": each that a head was trained on). `chosen` limits the heads.

    `known` are the plain types of the model. A map to them needs no `plain`, and the user's own data that no head was trained on are scored by plain types with the same names.
    Without a `split` it is test, or all documents of the user's own data that are not divided into parts and that no head was trained on.
    """
    if not heads:
        raise UsageError(
            "BX001", "no head of the model can be scored", hint="train a task that a corpus has answers for"
        )
    _must_be_known(chosen or (), [head.name for head in heads], "head")
    usable = [head for head in heads if chosen is None or head.name in chosen]
    if known:
        _must_be_known(plain, known, "type")
    names = [name for spec in corpora for name in ([head.base for head in usable] if spec == ALL else [spec]) if name]
    plain = plain or _mapped_to(types, heads, known)
    columns = []
    for spec in dict.fromkeys(names):
        taggers = [head for head in usable if head.tags]
        part = split or _part(spec, heads)
        spec_columns = list(_columns(spec, taggers, part, plain, types, with_cross))
        if not plain and types is None:
            spec_columns += _asked(spec, usable, part, by_name=chosen is not None)
            if not spec_columns and chosen is None and own.of_spec(view.parse(spec)[0]) is not None:
                spec_columns += _columns(spec, taggers, part, _shared(spec, known), None, with_cross)
        if not spec_columns and plain and (gold := types_of(spec)):
            raise UsageError(
                "BX001",
                f"corpus {own.short_name(view.parse(spec)[0])!r} has no type called {' or '.join(plain)}",
                hint=f"say which types correspond, for instance --map {gold[0]}=TYPE; the corpus has {', '.join(gold)}",
            )
        if not spec_columns:
            raise UsageError(
                "BX001",
                f"no head of the model can be scored on corpus {own.short_name(view.parse(spec)[0])!r}",
                hint=_way_out(spec, usable, known),
            )
        columns += spec_columns
    if not columns:
        raise UsageError(
            "BX001",
            "cannot choose corpora by name: no head is named after a corpus",
            hint="name a corpus, and say with --map or --heads what to score on it",
        )
    return _distinct(columns)


def _part(spec: str, heads: Sequence[EvaluatedHead]) -> str:
    """The part to score on if none is named. For data that a head was trained on, the user must name a part that it has not seen."""
    base = view.parse(spec)[0]
    data = own.of_spec(base)
    if data is None:
        return TEST
    splits = own.card(data).splits
    name = own.short_name(base)
    if name in {head.called for head in heads}:
        if TEST not in splits:
            raise CorpusError(
                "BX207",
                f"{name} has no test part, and the model was trained on data of that name",
                hint="give the recipe of the model instead of the data, since it says what was held out, or name another part with --split devel",
            )
        return TEST
    return WHOLE if TEST not in splits and splits["devel"].made else TEST


def _distinct(columns: Sequence[Column]) -> list[Column]:
    """Columns with names that can be folders, each one different."""
    distinct: dict[str, Column] = {}
    for column in columns:
        plain = re.sub(r"[^\w.+~-]", "_", column.name)
        number = next(number for number in count(1) if (plain if number == 1 else f"{plain}.{number}") not in distinct)
        name = plain if number == 1 else f"{plain}.{number}"
        distinct[name] = replace(column, name=name)
    return list(distinct.values())


def _columns(
    spec: str, heads: Sequence[EvaluatedHead], split: str, plain: Sequence[str], types: TypeMap | None, with_cross: bool
) -> Iterator[Column]:
    base, kept_types = view.parse(spec)
    base = own.short_name(base)
    own_types = types_of(spec)
    if types is not None:
        view.check_types(types.gold, own_types, corpus=spec)
    if plain:
        mapped = types or _by_name(own_types, plain)
        if mapped is not None:
            _must_be_known(mapped.said, plain, "type")
            yield Column(f"{base}~types", spec, split, (), mapped, "plain", cross=True, plain=tuple(plain))
    elif types is not None:
        yield _mapped(spec, base, heads, split, types)
    else:
        for head in heads:
            # The recipe may have renamed the types of the user's own data: then the files' names and the head's never meet.
            if own.of_spec(spec) is not None and own_types and not set(head.types) & set(own_types):
                continue
            if head.called == base and (shared := [name for name in head.types if not kept_types or name in own_types]):
                several = sum(candidate.called == base for candidate in heads) > 1
                name = f"{base}~{head.name}" if several else base
                corpus = spec if kept_types or own.of_spec(spec) else head.corpus or spec
                yield Column(name, corpus, split, (head.name,), mapping.same(shared, head=head.name), head.scheme)
        if with_cross and not kept_types:
            yield from _crossed(spec, base, heads, split)


def _asked(spec: str, heads: Sequence[EvaluatedHead], split: str, *, by_name: bool) -> Iterator[Column]:
    """The columns of heads that do not tag."""
    base, kept_types = view.parse(spec)
    base = own.short_name(base)
    several = sum(head.called == base for head in heads) > 1
    for head in heads:
        trained = head.called == base
        if head.tags or not (trained or by_name):
            continue
        name = f"{base}~{head.name}" if several or not trained else base
        corpus = spec if kept_types or not trained or own.of_spec(spec) else head.corpus or spec
        nothing = mapping.of_pairs([])
        yield Column(name, corpus, split, (head.name,), nothing, "none", cross=not trained, kind=head.kind, tags=False)


def _way_out(spec: str, heads: Sequence[EvaluatedHead], model_types: Sequence[str]) -> str:
    """How to score a corpus that no head was trained on."""
    taggers = [head.name for head in heads if head.tags]
    other_heads = [head.name for head in heads if not head.tags]
    ways = []
    if taggers and model_types and own.of_spec(view.parse(spec)[0]) is not None and (gold := types_of(spec)):
        ways.append(f"say which types correspond, for instance --map {gold[0]}=TYPE")
        ways[-1] += f"; the corpus has {', '.join(gold)}, the model {', '.join(model_types)}"
    elif taggers and types_of(spec):
        ways.append("score types of the same names with --types TYPE,...")
        ways.append(f"say which types correspond with --map CORPUS_TYPE=HEAD/TYPE; the heads are {', '.join(taggers)}")
    if other_heads:
        ways.append(f"name a head that fits with --heads: {', '.join(other_heads)}")
    return "; or ".join(ways or ["score a corpus with entities, or another model"])


def _crossed(spec: str, base: str, heads: Sequence[EvaluatedHead], split: str) -> Iterator[Column]:
    pairs = cross.pairs(base)
    for head in heads:
        met = [
            (gold, f"{head.name}/{type_}")
            for gold, sources in pairs.items()
            for corpus, type_ in sources
            if head.corpus == corpus and type_ in head.types
        ]
        if met:
            yield Column(
                f"{base}~{head.name}", spec, split, (head.name,), mapping.of_pairs(met), head.scheme, cross=True
            )


def _mapped(spec: str, base: str, heads: Sequence[EvaluatedHead], split: str, types: TypeMap) -> Column:
    """The column of a map that the user gave: a bare type is that of every head that has it."""
    qualified = [f"{head.name}/{name}" for head in heads for name in head.types]
    bare = list(dict.fromkeys(name for head in heads for name in head.types))
    _must_be_known(types.said, [*bare, *qualified], "type")
    used = [head for head in heads if any(_answers(head, type_) for type_ in types.said)]
    trained = len(used) == 1 and used[0].called == base
    name = base if trained else f"{base}~{'+'.join(head.name for head in used)}"
    schemes = "+".join(dict.fromkeys(head.scheme for head in used))
    return Column(name, spec, split, tuple(head.name for head in used), types, schemes, cross=not trained)


def _answers(head: EvaluatedHead, type_: str) -> bool:
    return type_ in head.types or type_ in {f"{head.name}/{name}" for name in head.types}


def _mapped_to(types: TypeMap | None, heads: Sequence[EvaluatedHead], model_types: Sequence[str]) -> tuple[str, ...]:
    """The plain types that a map leads to, if it leads to no type of a head."""
    if types is None or not model_types or any(_answers(head, type_) for head in heads for type_ in types.said):
        return ()
    for type_ in types.said:
        if type_ not in model_types:
            choices = f"choose from: {', '.join(model_types)}; or HEAD/TYPE for that of one head"
            raise UsageError(
                "BX001", f"the model has no type {type_!r}", hint=did_you_mean(type_, model_types, otherwise=choices)
            )
    return tuple(types.said)


def _shared(spec: str, model_types: Sequence[str]) -> tuple[str, ...]:
    """The plain types that a corpus has too, case aside."""
    mapped = _by_name(types_of(spec), model_types)
    return tuple(mapped.said) if mapped else ()


def _by_name(gold: Iterable[str], plain: Iterable[str]) -> TypeMap | None:
    """Types that have the same name on both sides, case aside."""
    lower = {name.lower(): name for name in plain}
    met = [(name, lower[name.lower()]) for name in gold if name.lower() in lower]
    return mapping.of_pairs(met) if met else None


def _must_be_known(names: Iterable[str], choices: Sequence[str], noun: str) -> None:
    for name in names:
        if name not in choices:
            raise UsageError("BX001", f"the model has no {noun} {name!r}", hint=did_you_mean(name, choices))
