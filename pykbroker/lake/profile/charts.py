"""Plots as inline SVG, without scripts or external files. All text is escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from pykbroker.lake.profile.formatting import short

WIDE, _WIDTH = 1100, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 8, 10, 22
_ROW = 24
_LETTER = 6.4


class Bar(NamedTuple):
    """``tip`` is the tooltip; ``label`` is shown below the bar."""

    value: int
    tip: str
    label: str = ""


def columns(bars: Sequence[Bar], height: int = 150, width: int = _WIDTH) -> str:
    """Vertical bars over an axis from 0."""
    most = max((bar.value for bar in bars), default=0) or 1
    step = (width - _LEFT - _RIGHT) / max(len(bars), 1)
    gap = min(2.0, step / 5)
    inner = height - _TOP - _BOTTOM
    parts = [_grid(most, inner, width - _RIGHT)]
    for index, bar in enumerate(bars):
        tall = inner * bar.value / most
        tall = max(tall, 1.0) if bar.value else 0.0
        x, y = _LEFT + index * step, _TOP + inner - tall
        tip = f"<title>{escape(bar.tip)}</title>"
        parts.append(
            f'<g>{tip}<rect class="hit" x="{x:.1f}" y="{_TOP}" width="{step:.1f}" height="{inner}"/>'
            f'<rect class="bar" x="{x + gap / 2:.1f}" y="{y:.1f}" width="{step - gap:.1f}" height="{tall:.1f}"/></g>'
        )
    middles = [(bar.label, _LEFT + (index + 0.5) * step) for index, bar in enumerate(bars) if bar.label]
    return _svg("".join([*parts, *_ticks(middles, width, height - 7)]), width, height)


def _ticks(labels: Sequence[tuple[str, float]], width: int, y: int) -> Iterator[str]:
    """The labels that do not overlap those before them."""
    taken = 0.0
    for label, at in labels:
        half = len(label) * _LETTER / 2
        middle = min(at, width - half)
        if middle - half > taken:
            taken = middle + half + _LETTER
            yield f'<text class="tick" x="{middle:.1f}" y="{y}">{escape(label)}</text>'


def _grid(most: int, inner: int, right: int) -> str:
    """Lines at 0, half of the maximum and the maximum, with their numbers."""
    lines = []
    for part in (0.0, 0.5, 1.0):
        y = _TOP + inner * (1 - part)
        value = most * part
        number = short(value) if value == int(value) or most > 10 else ""
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="value" x="{_LEFT - 6}" y="{y + 4:.1f}">{number}</text>'
        )
    return "".join(lines)


def rows(bars: Sequence[Bar], labels: Sequence[str]) -> str:
    """Horizontal bars, each with its name on the left and the text in ``labels`` on the right."""
    most = max((bar.value for bar in bars), default=0) or 1
    left, right = 150, 130
    parts = []
    for index, (bar, text) in enumerate(zip(bars, labels, strict=True)):
        y = index * _ROW
        wide = max((_WIDTH - left - right) * bar.value / most, 1.0 if bar.value else 0.0)
        parts.append(
            f"<g><title>{escape(bar.tip)}</title>"
            f'<text class="name" x="{left - 8}" y="{y + 16}">{escape(_cut(bar.label))}</text>'
            f'<rect class="bar" x="{left}" y="{y + 4}" width="{wide:.1f}" height="{_ROW - 8}"/>'
            f'<text class="told" x="{left + wide + 8:.1f}" y="{y + 16}">{escape(text)}</text></g>'
        )
    return _svg("".join(parts), _WIDTH, max(len(bars), 1) * _ROW)


def spark(values: Sequence[int]) -> str:
    """A sparkline, as high as a table's row."""
    most = max(values, default=0) or 1
    step = 160 / max(len(values), 1)
    bars = "".join(
        f'<rect class="bar" x="{index * step:.1f}" y="{24 - 22 * value / most:.1f}" '
        f'width="{max(step - 0.3, 0.5):.1f}" height="{22 * value / most:.1f}"/>'
        for index, value in enumerate(values)
    )
    return f'<svg class="spark" viewBox="0 0 160 24" role="img">{bars}</svg>'


def _svg(inner: str, width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img">{inner}</svg>'


def _cut(text: str, most: int = 20) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
