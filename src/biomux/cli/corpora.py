"""`biomux corpora`: the catalogue, and the contents of the corpora directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from biomux.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.cli.ui.display import Progress
    from biomux.corpora.card import Card
    from biomux.corpora.check import CheckResult
    from biomux.corpora.survey import Survey
    from biomux.document import Document
    from biomux.errors import FormatError

app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})

_NAME = typer.Argument(help="Name of a corpus; `biomux corpora list` shows them.")
_CORPORA = typer.Option(None, "--corpora", metavar="DIR", help="Corpora directory.")
_SPLITS = typer.Option(None, "--split", help="Only this split. Repeatable.")
_NAMES = typer.Argument(metavar="NAME", help="Names of corpora; `biomux corpora list` shows them.")
_ONLY = typer.Option(None, "--only", metavar="NAME", help="Only this corpus. Repeatable.")
_JSON = typer.Option(False, "--json", help="Write JSON instead of a table.")


@app.callback()
def _group() -> None:
    """List, show, count, fetch and check corpora.

    The corpora directory is the first of these that is set: the option --corpora, the environment variable BIOMUX_CORPORA, the key
    `corpora` in ~/.config/biomux/config.yaml. Otherwise it is ./corpora.

    Examples:

        biomux corpora list
        biomux corpora show bc5cdr
    """


@app.command("list")
def list_(
    task: str = typer.Option(None, "--task", help="Only corpora for this task."),
    as_json: bool = _JSON,
) -> None:
    """List all corpora in the catalogue.

    Examples:

        biomux corpora list
        biomux corpora list --task ner
    """
    from biomux.cli.ui.display import table
    from biomux.corpora import catalogue

    cards = list(catalogue.cards())
    shown = [card for card in cards if task is None or task in card.tasks]
    if not shown:
        tasks = sorted({name for card in cards for name in card.tasks})
        raise UsageError("BX001", f"no corpus has the task {task!r}", hint=did_you_mean(task, tasks))
    if as_json:
        _print_json([{"name": card.name, "title": card.title, "tasks": card.tasks, **_access(card)} for card in shown])
        return
    rows = [
        (
            card.name,
            card.title,
            ", ".join(card.tasks),
            " / ".join(_size(card, split) for split in ("train", "devel", "test")),
            "on application" if card.credentialed else "open",
        )
        for card in shown
    ]
    table(["name", "title", "tasks", "train / devel / test", "access"], rows)


@app.command("show")
def show(name: str = _NAME, as_json: bool = _JSON) -> None:
    """Show the card of a corpus.

    Shows its types, splits and their counts, origin, licence, citation, and known pitfalls.

    Examples:

        biomux corpora show bc5cdr
        biomux corpora show elucidata-tissue --json
    """
    from biomux.cli.ui.display import table
    from biomux.corpora import catalogue

    card = catalogue.card(name)
    if as_json:
        _print_json(card.model_dump(mode="json", by_alias=True, exclude_none=True))
        return
    home = card.home
    place = home.site or ", ".join(part for part in (home.repository, home.path, home.commit) if part)
    facts = [
        ("name", card.name),
        ("title", card.title),
        ("tasks", ", ".join(card.tasks)),
        ("types", ", ".join(card.types)),
        ("access", card.apply if card.credentialed else "open"),
        ("home", place),
        *(("licence", f"{licence.name} (according to {licence.stated})") for licence in card.licence),
        *(("citation", citation) for citation in card.citation),
        *(("note", note) for note in card.notes),
    ]
    table(["what", "value"], [fact for fact in facts if fact[1]])
    if card.splits:
        _counts_table({split: part.counts for split, part in card.splits.items()})


@app.command("stats")
def stats(
    name: str = typer.Argument(help='A corpus, or a view of it such as "bc5cdr[Chemical]".'),
    split: list[str] = _SPLITS,
    corpora: str = _CORPORA,
    as_json: bool = _JSON,
) -> None:
    """Read a corpus and count what it holds.

    Examples:

        biomux corpora stats bc5cdr
        biomux corpora stats "bc5cdr[Chemical]" --split train
    """
    from biomux.cli.ui.display import progress
    from biomux.corpora import corpus
    from biomux.corpora.stats import count

    chosen = corpus.get(name, directory=corpora)
    by_split = {}
    with progress(f"counting {name}") as bar:
        for part in split or chosen.splits:
            by_split[part] = count(_ticking(chosen.documents(part), bar))
    if as_json:
        _print_json({part: counts.model_dump(mode="json", exclude_none=True) for part, counts in by_split.items()})
        return
    _counts_table(by_split)


@app.command("fetch")
def fetch(
    names: list[str] = _NAMES,
    corpora: str = _CORPORA,
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what would be downloaded, and where it would go."),
) -> None:
    """Download corpora from their public sites.

    The files go into the corpora directory. An interrupted download is resumed. Every file is checked against the card before it is put in place. Files that have no direct
    address or cannot be reached are listed, with the places where you should put them. Terms of use differ: read the card of a corpus first.

    Examples:

        biomux corpora fetch bc5cdr ncbi-disease
        biomux corpora fetch jnlpba --corpora ~/corpora --dry-run
    """
    from biomux.cli.ui.display import progress, table
    from biomux.corpora import catalogue, corpus, directory
    from biomux.corpora import fetch as fetching
    from biomux.errors import CorpusError

    cards = [catalogue.card(name) for name in names]
    root = directory.chosen(corpora)
    for card in cards:
        if card.credentialed:
            raise corpus.not_open(card, root)
    items = [item for card in cards for item in fetching.plan(card, root)]
    if dry_run:
        states = ["is there" if item.present else "to fetch" if item.url else "by hand" for item in items]
        rows = [(item.place, state, item.url or item.where) for item, state in zip(items, states, strict=True)]
        table(["file", "state", "from"], rows)
        return
    missing = [item for item in items if not item.present and (item.url or not item.file.optional)]
    try:
        for item in items:
            if item.url and item in missing:
                with progress(item.file.path, total=item.file.bytes, unit="bytes") as bar:
                    fetching.download(item, on_bytes=bar.advance)
                missing.remove(item)
            if item not in missing:
                print(f"{item.place}: {'is there' if item.present else 'fetched'}")
    finally:
        if missing:
            table(
                ["get by hand", "put it at (plain or gzipped)"],
                [(item.url or item.where, item.place) for item in missing],
            )
    if missing:
        raise CorpusError(
            "BX208",
            f"cannot download {len(missing)} files: they have no direct address",
            hint="get them by hand as listed above",
        )


@app.command("check")
def check(
    directory: str = typer.Argument(
        None,
        metavar="PATH",
        help="Data of your own (a file, folder or glob), or a corpora directory instead of the default one.",
    ),
    corpora: str = _CORPORA,
    only: list[str] = _ONLY,
    quick: bool = typer.Option(False, "--quick", help="Compare checksums only; do not read the documents."),
    as_json: bool = _JSON,
) -> None:
    """Check data of your own, or a corpora directory against the cards.

    For your own data, it shows which files belong to which split, the counts of each type, and what would prevent training: overlaps, mentions that
    begin or end inside words, text that is both in train and held out, duplicates, and types with too few examples. The exit code is 2 if the data cannot be
    trained on. biomux train shows the same before it begins.

    For a corpora directory, it lists missing and damaged files, and splits whose counts differ from their card; the exit code is 2 if there are any. A corpus
    that was not downloaded at all is not a fault.

    Examples:

        biomux corpora check my-data/
        biomux corpora check notes.labelstudio.json
        biomux corpora check "{train: notes.tsv, format: conll, test: 0.2}"
        biomux corpora check ~/corpora
        biomux corpora check --only bc5cdr --quick
    """
    from biomux.cli.ui.display import progress, table
    from biomux.corpora import catalogue, check
    from biomux.corpora import directory as places

    if directory is not None and not only and not _is_corpora_directory(directory):
        _check_own(directory, as_json=as_json)
        return
    root = places.find(directory or corpora)
    names = only or list(catalogue.names())
    results: list[CheckResult] = []
    with progress("checking", total=len(names), unit="corpora") as bar:
        for name in names:
            results.append(check.check(catalogue.card(name), root, counts=not quick))
            bar.advance(1)
    if as_json:
        from dataclasses import asdict

        _print_json([asdict(result) for result in results])
    else:
        table(["corpus", "state", "where", "what"], [row for result in results for row in _result_rows(result)])
    if any(result.faults for result in results):
        raise typer.Exit(2)


def _is_corpora_directory(path: str) -> bool:
    """Whether a folder holds files that the catalogue's cards name. A folder that does not exist is not a corpora directory either."""
    from pathlib import Path

    from biomux.corpora import catalogue
    from biomux.corpora.directory import locate

    root = Path(path).expanduser()
    return root.is_dir() and any(locate(root, file.path) for card in catalogue.cards() for file in card.files)


def _check_own(path: str, *, as_json: bool) -> None:
    """Show what the user's own data contain and what is wrong with them."""
    from pathlib import Path

    from biomux.corpora import own
    from biomux.corpora.corpus import Corpus
    from biomux.corpora.survey import Survey, survey
    from biomux.errors import CorpusError

    malformed: dict[str, None] = {}  # in order, each once: cutting parts reads the training files twice

    def keep(error: FormatError) -> None:
        malformed[str(error)] = None

    try:
        card = own.card(own.of_argument(path), on_error=keep)
    except CorpusError as error:
        if not malformed:
            raise
        _show_survey(Survey({}, {}, errors=(*malformed, str(error))), as_json=as_json)
        return
    corpus_read = Corpus(card, Path())
    parts = {split: list(corpus_read.documents(split, on_error=keep)) for split in corpus_read.splits}
    notes = [f"{split}: {_origin(card, split)}" for split in corpus_read.splits]
    _show_survey(survey(parts, errors=malformed, notes=[*notes, *card.notes]), as_json=as_json)


def _show_survey(seen: Survey, *, as_json: bool) -> None:
    """Print what was found; exit code 2 if it cannot be trained on."""
    if as_json:
        _print_json(seen.to_json())
    else:
        print(seen)
    if seen.errors:
        raise typer.Exit(2)


def _origin(card: Card, split: str) -> str:
    """Where a split comes from."""
    part = card.splits[split]
    if part.made is not None:
        return f"cut from {part.made.origin} by document, with the seed {part.made.seed}"
    name = part.format.name if part.format else "?"
    more = f" and {len(part.files) - 1:,} more files" if len(part.files) > 1 else ""
    return f"{part.files[0]}{more}, read as {name}"


def _result_rows(result: CheckResult) -> list[tuple[str, str, str, str]]:
    if result.faults:
        return [(result.corpus, fault.kind, fault.what, fault.message) for fault in result.faults]
    return [(result.corpus, result.state, f"{result.files} files" if result.files else "", "")]


def _counts_table(found: dict[str, Any]) -> None:
    """Totals of each split, then the types and labels."""
    from biomux.cli.ui.display import table
    from biomux.corpora.stats import flat

    totals = {split: flat(counts) for split, counts in found.items()}
    columns = list(dict.fromkeys(what for total in totals.values() for what in total))
    print()
    table(["split", *columns], [(split, *(total.get(what, 0) for what in columns)) for split, total in totals.items()])
    kinds = list(
        dict.fromkeys(
            (what, name)
            for counts in found.values()
            for what in ("mentions", "relations", "labels")
            for name in getattr(counts, what) or {}
        )
    )
    if kinds:
        rows = [
            (what, name, *((getattr(counts, what) or {}).get(name, 0) for counts in found.values()))
            for what, name in kinds
        ]
        print()
        table(["what", "type", *found], rows)


def _size(card: Card, split: str) -> str:
    counts = card.splits[split].counts if split in card.splits else None
    return "–" if counts is None or counts.documents is None else f"{counts.documents:,}"


def _access(card: Card) -> dict[str, Any]:
    return {"credentialed": card.credentialed, "splits": list(card.splits), "types": card.types}


def _print_json(data: object) -> None:
    import json

    print(json.dumps(data, ensure_ascii=False, indent=2))


def _ticking(documents: Iterator[Document], bar: Progress) -> Iterator[Document]:
    for document in documents:
        bar.advance(1)
        yield document
