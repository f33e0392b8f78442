"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roastcoffea.report._document import Links, Section, document
from roastcoffea.report._markup import name, text, text_table

if TYPE_CHECKING:
    from roastcoffea._core import _SummaryTable


def comparison_page(
    headline: str, sides: Sequence[Sequence[str]], tables: Sequence[_SummaryTable], home: Links = ()
) -> str:
    """`sides` are the names of the runs of A and of B; `home` leads out of the page."""
    names = "".join(
        f'<p class="about">{letter}: {", ".join(name(one) for one in side)}</p>' for letter, side in zip("AB", sides)
    )
    top = f'<section id="top"><h1>Comparison</h1><p class="outcome">{name(headline)}</p>{names}</section>'
    return document("Comparison · roastcoffea", top, [table_section(table) for table in tables], home=home)


def table_section(table: _SummaryTable) -> Section:
    if not table["rows"]:
        return Section(table["id"], table["title"], "")
    caption = f'<p class="note">{text(table["caption"])}</p>' if table["caption"] else ""
    shown = text_table("texts", table["columns"], table["rows"])
    return Section(table["id"], table["title"], f'<div class="scroll whole" tabindex="0">{shown}</div>{caption}')
