"""A profile as one self-contained HTML page, without scripts and fonts. All data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pykbroker.lake.profile import plots
from pykbroker.lake.profile.charts import spark
from pykbroker.lake.profile.formatting import counted, moment, rate, share, short, size, span
from pykbroker.lake.profile.statistics import TopicFacts
from pykbroker.lake.profile.stylesheet import STYLE

Cell = tuple[str, str]
"""A number and its label."""


def page(title: str, at: str, topics: Sequence[TopicFacts]) -> str:
    """The profile of the lake ``title``, created at the time ``at``."""
    records, amount = sum(each.records for each in topics), sum(each.bytes for each in topics)
    said = f"{counted(records, 'record')} of {counted(len(topics), 'topic')}, {size(amount)} of keys and values"
    body = "".join([_overview(topics) if len(topics) > 1 else "", *map(_topic, topics)])
    nothing = "" if topics else "<p>No records match.</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: profile</title><style>{STYLE}</style></head><body><main>"
        f"<header><h1>{escape(title)}</h1><p>{escape(said)}. Profile of {escape(at)}; times are in UTC.</p></header>"
        f"{nothing}{body}</main></body></html>\n"
    )


def _overview(topics: Sequence[TopicFacts]) -> str:
    lines = [
        [
            f'<a href="#{_anchor(each)}">{escape(each.topic)}</a>', short(each.records), size(each.bytes),
            escape(f"{moment(each.first_ms)} to {moment(each.last_ms)}"), spark([bar.value for bar in plots.volume(each)]),
        ]
        for each in topics
    ]  # fmt: skip
    return (
        f"<section><h2>Topics</h2>{_table(('topic', 'records', 'size', 'times', 'volume over time'), lines)}</section>"
    )


def _topic(facts: TopicFacts) -> str:
    volume = _panel("Volume over time", f"records of each {span(facts.step_ms)}", plots.volume_chart(facts))
    panels = [
        _panel("Partitions", "records of each", plots.partitions_chart(facts)),
        _panel("Keys", _keys_said(facts), plots.keys_chart(facts), plots.key_counts_chart(facts)),
        _panel("Sizes", _percentiles(facts.size_percentiles, size), plots.sizes_chart(facts)),
        _panel("Lateness", _late_said(facts), plots.lateness_chart(facts)),
        _panel("Gaps", _gaps_said(facts), _pauses(facts)),
    ]
    return (
        f'<section id="{_anchor(facts)}"><h2>{escape(facts.topic)}</h2>'
        f"{_tiles(_numbers(facts))}{volume}<div class=panels>{''.join(panels)}</div></section>"
    )


def _numbers(facts: TopicFacts) -> list[Cell]:
    largest = max(each.records for each in facts.partitions)
    mean = facts.records / len(facts.partitions)
    return [
        (short(facts.records), "records"),
        (size(facts.bytes), "keys and values"),
        (f"{moment(facts.first_ms)} to {moment(facts.last_ms)}", span(facts.last_ms - facts.first_ms)),
        (rate(facts.records, facts.last_ms - facts.first_ms), "on average"),
        (short(facts.keys), "keys"),
        (f"{largest / mean:.2f} x", "largest partition, relative to the mean"),
        (share(facts.tombstones, facts.records), "values that are null"),
        (share(facts.with_headers, facts.records), "with headers"),
    ]


def _keys_said(facts: TopicFacts) -> str:
    if not facts.keys:
        return "no record has a key"
    top = facts.top_keys[0]
    return (
        f"{counted(facts.keys, 'key')}; the most frequent has {share(top.records, facts.records)} of all records. "
        f"{counted(facts.repeats, 'record')} ({share(facts.repeats, facts.records)}) repeat an earlier value of their key; "
        f"{counted(facts.without_key, 'record')} without a key"
    )


def _late_said(facts: TopicFacts) -> str:
    if not facts.late:
        return "how much older records are than those before them in their partition"
    late = f"{counted(facts.late, 'record')} ({share(facts.late, facts.records)})"
    return f"{late} older than a record before them in their partition. {_percentiles(facts.late_percentiles, span)}"


def _gaps_said(facts: TopicFacts) -> str:
    lost = f"; {counted(facts.lost, 'offset')} expired before they were archived" if facts.lost else ""
    missing = f"{counted(facts.missing, 'offset')} without a record (markers, aborted or compacted records)"
    return f"{missing}{lost}. Longest times without a newer record:"


def _percentiles(found: dict[str, int], tell: object) -> str:
    assert callable(tell)
    return ", ".join(f"{name} up to {tell(value)}" for name, value in found.items())


def _pauses(facts: TopicFacts) -> str:
    lines = [
        [
            escape(span(each.end_ms - each.start_ms)),
            escape(moment(each.start_ms)),
            escape(moment(each.end_ms)),
            str(each.partition),
        ]
        for each in facts.pauses
    ]
    return _table(("pause", "from", "to", "partition"), lines) if lines else "<p>None.</p>"


def _panel(title: str, said: str, *charts: str) -> str:
    return f"<figure><figcaption><b>{escape(title)}</b> {escape(said)}</figcaption>{''.join(charts)}</figure>"


def _tiles(cells: Iterable[Cell]) -> str:
    return (
        f"<dl>{''.join(f'<div><dt>{escape(what)}</dt><dd>{escape(number)}</dd></div>' for number, what in cells)}</dl>"
    )


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(each)}</th>" for each in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _anchor(facts: TopicFacts) -> str:
    return escape(f"topic-{facts.topic}")
