"""The plots of a topic."""

from __future__ import annotations

from collections.abc import Sequence

from pykbroker.lake.profile.charts import WIDE, Bar, columns, rows
from pykbroker.lake.profile.formatting import clock, counted, moment, share, short, size, span
from pykbroker.lake.profile.statistics import DAY_MS, LATE_FROM_MS, Bin, TopicFacts

_TICKS = 10


def volume(facts: TopicFacts) -> list[Bar]:
    """A bar for each step, also for those without records."""
    known = dict(facts.volume)
    starts = range(facts.volume[0].start, facts.volume[-1].start + 1, facts.step_ms)
    every = max(1, -(-len(starts) // _TICKS))
    return [
        Bar(known.get(start, 0), f"{moment(start)}: {counted(known.get(start, 0), 'record')}", _tick(facts, start) if index % every == 0 else "")
        for index, start in enumerate(starts)
    ]  # fmt: skip


def volume_chart(facts: TopicFacts) -> str:
    return columns(volume(facts), 180, WIDE)


def partitions_chart(facts: TopicFacts) -> str:
    """All partitions or, if there are many, those with the most and the fewest records."""
    found = sorted(facts.partitions, key=lambda each: each.records, reverse=True)
    shown = found if len(found) <= 16 else [*found[:8], *found[-8:]]
    bars = [
        Bar(each.records, f"offsets {each.first_offset:,} to {each.last_offset:,}", f"partition {each.partition}")
        for each in shown
    ]
    told = [f"{short(each.records)}, {size(each.bytes)}" for each in shown]
    return rows(bars, told)


def keys_chart(facts: TopicFacts) -> str:
    """The keys with the most records."""
    bars = [
        Bar(
            each.records,
            f"{each.text}: {counted(each.records, 'record')}, of which {each.repeats:,} repeat a value",
            each.text,
        )
        for each in facts.top_keys
    ]
    return rows(bars, [f"{short(each.records)} ({share(each.records, facts.records)})" for each in facts.top_keys])


def key_counts_chart(facts: TopicFacts) -> str:
    """The number of keys by their number of records; bars far on the right show skew."""
    if not facts.key_counts:
        return ""
    bars = [
        Bar(each.keys, f"{counted(each.keys, 'key')} with {_range(each.least)} records", _range(each.least))
        for each in facts.key_counts
    ]
    return f"<p>Keys by the number of their records</p>{columns(bars, 110)}"


def sizes_chart(facts: TopicFacts) -> str:
    """Records by the size of their values."""
    bars = [
        Bar(each.records, f"{_sizes(each.start)}: {counted(each.records, 'record')}", _sizes(each.start))
        for each in _filled(facts.sizes)
    ]
    return columns(bars)


def lateness_chart(facts: TopicFacts) -> str:
    """Late records only: those in order would dwarf them."""
    if not facts.late:
        return "<p>All records are in order.</p>"
    known = dict(facts.lateness)
    bars = [
        Bar(known.get(start, 0), f"{_late(start)}: {counted(known.get(start, 0), 'record')}", _late(start))
        for start in LATE_FROM_MS[1:]
    ]
    return columns(bars)


def _filled(bins: Sequence[Bin]) -> list[Bin]:
    """The bins, with empty ones for missing powers of two."""
    known = dict(bins)
    start, last = bins[0].start, bins[-1].start
    found = []
    while start <= last:
        found.append(Bin(start, known.get(start, 0)))
        start = max(2 * start, 1)
    return found


def _range(count: int) -> str:
    return "1" if count == 1 else f"{short(count)}-{short(2 * count - 1)}"


def _sizes(start: int) -> str:
    return size(start) if start < 2 else f"{short(start, 1024)}-{short(2 * start, 1024)}B"


def _late(start: int) -> str:
    return f"≥ {span(start)}"


def _tick(facts: TopicFacts, start: int) -> str:
    if facts.step_ms < DAY_MS and facts.last_ms - facts.first_ms <= DAY_MS:
        return clock(start, facts.step_ms)
    text = moment(start)
    return text[:10] if facts.step_ms >= DAY_MS else text[5:16]
