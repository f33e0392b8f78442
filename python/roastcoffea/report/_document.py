"""The frame of a page: its head, its sections, and all that it needs inside."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from roastcoffea._core import __version__
from roastcoffea.report._markup import text

# Nothing is loaded from anywhere, whatever a name or a script may say.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
# An empty icon: without one of its own a browser would ask for one.
_ICON = "data:,"


class Section:
    """A part of the page; left out where there is nothing in it."""

    def __init__(self, identity: str, title: str, body: str) -> None:
        self.identity, self.title, self.body = identity, title, body

    @property
    def html(self) -> str:
        return f'<section id="{self.identity}"><h2>{text(self.title)}</h2>{self.body}</section>'


Links = Sequence[tuple[str, str]]  # texts and addresses


def document(
    title: str, top: str, sections: Sequence[Section], data: str = "", hint: str = "", home: Links = (),
    asks_server: bool = False,
) -> str:
    """The whole page. `top` is HTML above the sections; `data` are scripts before our own; `hint` stands at the end;
    `home` leads out of the page. `asks_server`: a script may ask the server that the page came from."""
    policy = f"{_POLICY}; connect-src 'self'" if asks_server else _POLICY
    shown = [section for section in sections if section.body]
    links = "".join(f'<a href="#{section.identity}">{text(section.title)}</a>' for section in shown)
    body = "".join(section.html for section in shown)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="roastcoffea {text(__version__)}">'
        f'<link rel="icon" href="{_ICON}"><title>{text(title)}</title>'
        f"<style>{part('report.css')}</style></head>"
        f"<body>{_header(links, home)}<main>{top}{body}</main>{_footer(hint)}"
        f"{data}{''.join(f'<script>{script}</script>' for script in own_scripts())}</body></html>\n"
    )


@cache
def own_scripts() -> tuple[str, ...]:
    """Those of every page."""
    return part("tables.js"), part("report.js")


def _header(links: str, home: Links) -> str:
    out = "".join(f'<a class="home" href="{text(address)}">{text(label)}</a>' for label, address in home)
    return (
        f'<header><div class="bar-inner">{out or "<strong>roastcoffea</strong>"}<nav>{links}</nav>'
        '<button type="button" id="theme" aria-label="switch between light and dark">'
        '<span aria-hidden="true">◐</span></button></div></header>'
    )


def _footer(hint: str) -> str:
    return f"<footer>{text(' · '.join(part for part in (f'roastcoffea {__version__}', hint) if part))}</footer>"


def part(file: str) -> str:
    """A file of this folder."""
    return (Path(__file__).parent / file).read_text(encoding="utf-8")
