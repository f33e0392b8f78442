"""What to change, from the engine's diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roastcoffea._core import format_value
from roastcoffea.report._data import Source
from roastcoffea.report._markup import name, text

_SEVERITIES = ("critical", "warning", "note")


def findings(source: Source) -> str | None:
    """One card per finding, the worst first; None without a diagnosis."""
    found = source.ask("diagnose")
    if found is None:
        return None
    cards = "".join(_card(finding) for finding in found)
    return f'<ol class="findings">{cards}</ol>' if cards else "<p>Nothing stands out.</p>"


def _get(finding: Any, key: str) -> Any:
    return finding.get(key) if isinstance(finding, Mapping) else getattr(finding, key, None)


def _card(finding: Any) -> str:
    severity = str(_get(finding, "severity") or "note")
    kind = severity if severity in _SEVERITIES else "note"
    parts = [
        f'<span class="badge">{text(severity)}</span>',
        f"<h3>{name(_get(finding, 'title') or '')}</h3>",
    ]
    parts += [f'<p class="evidence">{line}</p>' for line in _lines(_get(finding, "evidence"))]
    parts += [f'<p class="advice">{line}</p>' for line in _lines(_get(finding, "advice"))]
    saving = _get(finding, "saving_core_seconds")
    if saving:
        parts.append(
            f'<p class="saving">worth up to {text(format_value(float(saving), "s"))} of core time</p>'
        )
    return f'<li class="{kind}">{"".join(parts)}</li>'


def _lines(value: Any) -> list[str]:
    """Texts, lists of them, or figures by name."""
    if value is None or value == "":
        return []
    if isinstance(value, Mapping):
        return [name(", ".join(f"{key}: {_figure(entry)}" for key, entry in value.items()))]
    if isinstance(value, (list, tuple)):
        return [line for entry in value for line in _lines(entry)]
    return [name(value)]


def _figure(value: Any) -> str:
    return format_value(value, "1") if isinstance(value, float) else str(value)
