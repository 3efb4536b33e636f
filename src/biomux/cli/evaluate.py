"""`biomux evaluate`: a model scored on corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biomux.cli.ui.options import AsJson, CorporaFolder, Mistakes, Overwrite, ScoresFolder, Threads, TypeMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.evaluation.columns import Column


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder or name of a bundle, or folder of a run.")],
    corpora: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Corpora of the catalogue, views of them, data of your own, or a recipe, for the corpora that it names; all means every corpus that a head was trained on.",
        ),
    ],
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Split to score on. Default: test; for your own data without parts, all documents.",
        ),
    ] = None,
    heads: Annotated[list[str] | None, typer.Option("--heads", metavar="HEAD,...", help="Only these heads.")] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--types", metavar="TYPE,...", help="Score these plain types, merged over heads, instead of heads."
        ),
    ] = None,
    map_: TypeMap = None,
    cross: Annotated[
        bool, typer.Option("--cross/--no-cross", help="Also score heads of other corpora with similar types.")
    ] = True,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Score only the first N documents of each corpus.")
    ] = None,
    errors: Mistakes = 0,
    output: ScoresFolder = None,
    overwrite: Overwrite = False,
    card: Annotated[bool, typer.Option("--card", help="Write the scores into the model card of the bundle.")] = False,
    notes: Annotated[
        Path | None,
        typer.Option(
            "--notes",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="With --card: Markdown file with your own observations.",
        ),
    ] = None,
    keep_seen: Annotated[
        bool, typer.Option("--keep-seen", help="Keep documents that also occur in corpora the model was trained on.")
    ] = False,
    found_entities: Annotated[
        bool,
        typer.Option(
            "--found-entities", help="Score relations between the entities that the model finds, not the gold ones."
        ),
    ] = False,
    threads: Threads = None,
    corpora_dir: CorporaFolder = None,
    as_json: AsJson = False,
) -> None:
    """Score a model on corpora.

    Each corpus is scored with the head that was trained on it, and also with heads of other corpora whose types mean about the same
    (cross-corpus). Pair other types with --map. Strict, word-level and relaxed scores are shown side by side, with standard errors over
    documents; docs/reference/scores.md explains them. The line under each table records how its scores were computed.

    Heads that do not tag are scored on the corpus they were trained on, with the gold mentions and questions given: classes by accuracy and
    F1, numbers by correlation, relations by F1 (on candidate pairs, and over all relations), answers as in BioASQ and SQuAD. With --heads,
    they can be scored on any corpus. With --found-entities, relations are those between the entities that the model itself finds: the whole way
    from text to relation is scored. Auxiliary heads and masked language models are left out, with a note.

    Documents that also occur in a corpus the model was trained on are left out and counted.

    With -o, writes scores.json, and predictions.jsonl and counts.jsonl for each column; biomux compare reads these.

    Examples:

        biomux evaluate runs/first bc5cdr ncbi-disease -o scores/first
        biomux evaluate runs/relations chemprot hoc biosses -o scores/relations
        biomux evaluate bundle/ chemprot --found-entities
        biomux evaluate runs/claims covidfact --heads scifact
        biomux evaluate bundle/ all --no-cross --json
        biomux evaluate bundle/ tmvar3 --map Gene=jnlpba/protein --errors 3
        biomux evaluate bundle/ biored --types gene --map GeneOrGeneProduct=gene --limit 50
        biomux evaluate bundle/ all --card -o scores/bundle
    """
    from contextlib import nullcontext

    import biomux
    from biomux.cli.ui.display import note, progress
    from biomux.cli.ui.score_output import listed, show
    from biomux.engine.bundle.checksums import MANIFEST
    from biomux.engine.load import find
    from biomux.engine.runtimes import REFERENCE
    from biomux.errors import UsageError
    from biomux.evaluation import card_scores as cards
    from biomux.evaluation import columns, evaluate, score_folder
    from biomux.evaluation.model_heads import heads_of, unscored
    from biomux.formats import folder_target
    from biomux.recipes.read import corpora_in
    from biomux.scoring import mapping

    if heads and types:
        raise UsageError("BX001", "cannot use both --heads and --types", hint="give one of them")
    if notes is not None and not card:
        raise UsageError(
            "BX001", "cannot use --notes without --card: they are written into the model card", hint="add --card"
        )
    observations = notes.read_text(encoding="utf-8", errors="replace") if notes is not None else ""
    folder = find(model)
    if card:
        cards.check(folder)
    # Figures are of the runtime that bundles are measured and verified with, whatever is faster here.
    runtime = REFERENCE if (folder / MANIFEST).exists() else "auto"
    annotator = biomux.load(folder, threads=threads, runtime=runtime)
    known = heads_of(annotator, folder)
    for name, kind in unscored(annotator):
        note(f"head {name!r} is not scored: heads of kind {kind!r} serve training, and no corpus says what is right")
    planned = columns.plan(
        known,
        corpora_in(corpora),
        split=split,
        chosen=listed(heads),
        plain=listed(types) or (),
        types=mapping.parse(",".join(map_)) if map_ else None,
        with_cross=cross,
        known=annotator.types,
    )
    for column in planned:
        if column.plain and not types and not map_:
            shared = ",".join(column.plain)
            note(
                f"no head was trained on {column.called}: types with the same names are compared, as with --types {shared}"
            )
    for name in dict.fromkeys(column.called for column in planned if split is None and column.split == columns.WHOLE):
        note(f"{name} has no test part: all of its documents are scored")
    with folder_target(output, overwrite=overwrite, ours=score_folder.FILES) if output else nullcontext() as place:
        with progress("scoring", total=_documents(planned, limit)) as bar:
            scored = list(
                evaluate.evaluate(
                    annotator,
                    planned,
                    known,
                    directory=corpora_dir,
                    limit=limit,
                    examples=max(errors, 5),
                    keep_seen=keep_seen,
                    found_entities=found_entities,
                    folder=place,
                    tick=lambda: bar.advance(1),
                )
            )
        content = score_folder.to_json(
            output.name if output else folder.resolve().name, scored, model=folder.resolve().name
        )
        if place is not None:
            score_folder.write_scores(place, content)
    if card:
        cards.put(folder, content, notes=observations)
    show(content, errors=errors, as_json=as_json)


def _documents(planned: Sequence[Column], limit: int | None) -> int | None:
    """How many documents there will be, by the cards; None if a card does not say."""
    from biomux.corpora import catalogue, own

    total = 0
    # Heads that do not tag read their documents by themselves.
    read = {(column.base, column.split, () if column.tags else column.heads) for column in planned}
    for base, split, _ in read:
        if own.of_spec(base) is not None:
            return None
        for part in split.split("+"):
            stated = catalogue.card(base).splits.get(part)
            if stated is None or stated.counts.documents is None:
                return None
            total += min(stated.counts.documents, limit or stated.counts.documents)
    return total
