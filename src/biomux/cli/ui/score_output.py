"""What `evaluate` and `score` have in common: how scores are shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def show(content: Mapping[str, Any], *, errors: int, as_json: bool) -> None:
    """Print the tables of all columns with their signatures, then a summary; or the same as JSON."""
    from biomux.cli.ui.display import note, sentence, table
    from biomux.corpora import own, view
    from biomux.evaluation import score_tables
    from biomux.scoring.signature import common_signature

    if as_json:
        print(json.dumps(content, ensure_ascii=False, indent=2))
        return
    for column in content["columns"]:
        for title, (head, rows) in score_tables.tables(column, bins=len(content["columns"]) == 1):
            table(head, rows, title=f"{column['name']}: {title}")
            print(column["signature"])
            print()
        mistakes = column.get("spans", {}).get("mistakes")
        if errors and mistakes:
            table(*score_tables.mistake_table(mistakes), title=f"{column['name']}: mistakes")
            print(column["signature"])
            for line in score_tables.mistake_lines(mistakes, most=errors):
                print(sentence(line))
            print()
    spans = [column for column in content["columns"] if "spans" in column]
    if len(spans) > 1:
        table(*score_tables.summary(spans), title="all columns")
        print(common_signature([column["signature"] for column in spans]))
    others = [column for column in content["columns"] if "main" in column]
    if len(others) > 1:
        print()
        table(*score_tables.main_table(others), title="heads that do not tag")
        print(common_signature([column["signature"] for column in others]))
    # Columns over the same documents have the same to say of them: once is enough.
    for remark in dict.fromkeys(
        f"{own.short_name(view.parse(column['corpus'])[0])}: {line}"
        for column in content["columns"]
        for line in score_tables.remarks(column)
    ):
        note(remark)


def listed(values: list[str] | None) -> list[str] | None:
    """An option that may be given several times, or once with commas."""
    if not values:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
