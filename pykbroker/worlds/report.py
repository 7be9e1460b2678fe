"""A failed life in words: its schedule, its timeline by host, and the line that replays it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Final

from pykbroker.runtime.escaping import escaped
from pykbroker.worlds.exploring import Failure
from pykbroker.worlds.tape import MOMENT, Key

Event = tuple[float, str, str, str]

#: What says little where it goes well: answers to these, and these themselves, are left out while there is no error.
_USUAL: Final = ("ApiVersions", "Metadata", "FindCoordinator", "Heartbeat", "Fetch", "ListOffsets", "DescribeCluster")
#: The lines of a timeline in a terminal.
_MOST_LINES: Final = 60


def text(failure: Failure, replay: str) -> str:
    """What a terminal shows."""
    return "\n".join(escaped(line) for line in _lines(failure, replay))


def _lines(failure: Failure, replay: str) -> Iterator[str]:
    if failure.deviations or failure.of:
        yield f"world: seed {failure.seed} fails, the {_ordinal(failure.found_after)} that was tried"
        yield (
            f"the least schedule that fails ({len(failure.deviations)} of {failure.of} choices that were not calm, after "
            f"{failure.shrunk_in} lives):"
        )
        yield from (f"  {line}" for line in schedule(failure))
    else:
        yield "world: the calm life fails: no schedule and no fault is needed"
    if not failure.repeatable:
        yield (
            "NOT REPEATABLE: the same seed gave another life. Something of the program is outside of the world: the order of a set "
            "of objects, a cache that outlives the life, a compiled module that reads the machine's clock"
        )
    yield f"timeline ({failure.life.seconds:.3f} s of the world's time, trace {failure.life.trace_hash}):"
    shown = [each for each in failure.life.events if not _is_usual(each)]
    if len(shown) > _MOST_LINES:
        yield f"  ({len(shown) - _MOST_LINES} lines before these; the HTML page of --kafka-report DIR has all)"
    width = max((len(each[1]) for each in shown), default=4)
    yield from (f"  {when:9.4f}  {host:{width}}  {words}" for when, host, _, words in shown[-_MOST_LINES:])
    parting = parted(failure)
    if parting is not None:
        yield f"it parts from the nearest life that passes at {parting[0]:.4f} s: {parting[1]}: {parting[3]}"
    yield f"replay: {replay}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _is_usual(event: Event) -> bool:
    _, _, kind, words = event
    if kind not in ("request", "answer"):
        return kind == "slow"
    name = words.split(" ", 1)[0]
    return name in _USUAL and not any(word.isupper() and len(word) > 4 for word in words.replace(",", " ").split())


def schedule(failure: Failure) -> list[str]:
    """The choices that were not calm, in words."""
    return [_choice(key, value) for key, value in failure.deviations.items()] or ["none"]


def _choice(key: Key, value: int) -> str:
    name, ordinal = key
    if name.endswith(MOMENT):
        return f"{name} {value}"
    if name.endswith(" lost"):
        return f"{name}: with segment {ordinal + 1}"
    if value == 1 and ": " in name:
        return name
    what = "turn" if name.endswith("is slow") else "job" if name.endswith("threads slow") else "segment"
    return f"{name}: {what} {ordinal + 1}, by {value} of 1000"


def parted(failure: Failure) -> Event | None:
    """The first event in which the failed life differs from the nearest that passes."""
    if failure.passing is None:
        return None
    others = iter(failure.passing.events)
    for event in failure.life.events:
        if next(others, None) != event:
            return event
    return None


def page(failure: Failure, title: str, replay: str) -> str:
    """One HTML page with everything: a column for each host."""
    events = failure.life.events
    hosts = list(dict.fromkeys(host for _, host, _, _ in events))
    parting = parted(failure)
    head = "".join(f"<th>{html.escape(host)}</th>" for host in hosts)
    rows = "".join(_row(event, hosts, parted_here=event is parting) for event in events)
    choices = "".join(f"<li>{html.escape(line)}</li>" for line in schedule(failure))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>{_STYLE}'
        f"<h1>{html.escape(title)}</h1><p class=error>{html.escape(str(failure.error)[:2000])}</p>"
        f"<p>Seed {failure.seed}. Replay: <code>{html.escape(replay)}</code></p>"
        f"<h2>The least schedule that fails</h2><ul>{choices}</ul>"
        f"<h2>Timeline</h2><table><thead><tr><th>s</th>{head}</tr></thead><tbody>{rows}</tbody></table></html>"
    )


def _row(event: Event, hosts: Iterable[str], *, parted_here: bool) -> str:
    when, where, kind, words = event
    cells = "".join(f"<td>{html.escape(words) if host == where else ''}</td>" for host in hosts)
    classes = f"{kind}{' usual' if _is_usual(event) else ''}{' parted' if parted_here else ''}"
    return f'<tr class="{classes}"><td>{when:.4f}</td>{cells}</tr>'


_STYLE: Final = """<style>
body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse}td,th{padding:.15em .6em;
text-align:left;vertical-align:top;border-left:1px solid #ddd;font-size:13px}thead th{position:sticky;top:0;background:#fff}
.error{white-space:pre-wrap;background:#fdecea;padding:.6em}.usual td{color:#999}.crash td,.chaos td,.pause td,.partition td,.lost td
{background:#fdecea}.answer td{color:#06543b}.note td{font-weight:600}.parted td{border-top:3px solid #c00}
</style>"""
