"""Texts of lists."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["listed"]

_MOST = 20  # of a list in a text


def listed(texts: Sequence[str]) -> str:
    """Several texts as one: the first of them, and how many more there are."""
    more = len(texts) - _MOST
    return ", ".join(texts[:_MOST]) + (f" and {more} more" if more > 0 else "")
