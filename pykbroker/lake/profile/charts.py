"""Plots as SVG within a page: no script and nothing from elsewhere. All text is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from pykbroker.lake.profile.words import short

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 46, 8, 10, 22
_ROW = 24


class Bar(NamedTuple):
    """``tip`` is what a pointer over it shows; ``label`` stands below it."""

    value: int
    tip: str
    label: str = ""


def columns(bars: Sequence[Bar], height: int = 150) -> str:
    """Bars side by side, over an axis from 0."""
    most = max((bar.value for bar in bars), default=0) or 1
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(bars), 1)
    gap = min(2.0, step / 5)
    inner = height - _TOP - _BOTTOM
    parts = [_grid(most, inner)]
    for index, bar in enumerate(bars):
        tall = inner * bar.value / most
        tall = max(tall, 1.0) if bar.value else 0.0
        x, y = _LEFT + index * step, _TOP + inner - tall
        tip = f"<title>{escape(bar.tip)}</title>"
        parts.append(
            f'<g>{tip}<rect class="hit" x="{x:.1f}" y="{_TOP}" width="{step:.1f}" height="{inner}"/>'
            f'<rect class="bar" x="{x + gap / 2:.1f}" y="{y:.1f}" width="{step - gap:.1f}" height="{tall:.1f}"/></g>'
        )
        if bar.label:
            middle = min(max(x + step / 2, _LEFT + 20), _WIDTH - 36)
            parts.append(f'<text class="tick" x="{middle:.1f}" y="{height - 7}">{escape(bar.label)}</text>')
    return _svg("".join(parts), height)


def _grid(most: int, inner: int) -> str:
    """Lines at nothing, half and all of the most, with their numbers."""
    lines = []
    for part in (0.0, 0.5, 1.0):
        y = _TOP + inner * (1 - part)
        value = most * part
        number = short(value) if value == int(value) or most > 10 else ""
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="value" x="{_LEFT - 6}" y="{y + 4:.1f}">{number}</text>'
        )
    return "".join(lines)


def rows(bars: Sequence[Bar], told: Sequence[str]) -> str:
    """Bars below each other, each with its name on the left and what is ``told`` of it on the right."""
    most = max((bar.value for bar in bars), default=0) or 1
    left, right = 190, 150
    parts = []
    for index, (bar, text) in enumerate(zip(bars, told, strict=True)):
        y = index * _ROW
        wide = max((_WIDTH - left - right) * bar.value / most, 1.0 if bar.value else 0.0)
        parts.append(
            f"<g><title>{escape(bar.tip)}</title>"
            f'<text class="name" x="{left - 8}" y="{y + 16}">{escape(_cut(bar.label))}</text>'
            f'<rect class="bar" x="{left}" y="{y + 4}" width="{wide:.1f}" height="{_ROW - 8}"/>'
            f'<text class="told" x="{left + wide + 8:.1f}" y="{y + 16}">{escape(text)}</text></g>'
        )
    return _svg("".join(parts), max(len(bars), 1) * _ROW)


def spark(values: Sequence[int]) -> str:
    """A line of a table's height: how something went over time."""
    most = max(values, default=0) or 1
    step = 160 / max(len(values), 1)
    bars = "".join(
        f'<rect class="bar" x="{index * step:.1f}" y="{24 - 22 * value / most:.1f}" '
        f'width="{max(step - 0.3, 0.5):.1f}" height="{22 * value / most:.1f}"/>'
        for index, value in enumerate(values)
    )
    return f'<svg class="spark" viewBox="0 0 160 24" role="img">{bars}</svg>'


def _svg(inner: str, height: int) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{inner}</svg>'


def _cut(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
