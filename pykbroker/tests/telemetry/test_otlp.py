"""What is made of clients' metrics, and of bytes that are none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.telemetry.otlp import Kind, MalformedMetrics, Point, decode
from pykbroker.tests.telemetry.otlp import (
    CUMULATIVE,
    DELTA,
    HISTOGRAM,
    SUMMARY,
    gauge,
    inside,
    labels,
    metrics,
    point,
    total,
)


def decoded(data: bytes, most: int = 100) -> tuple[list[Point], int]:
    return decode(data, most, lambda: None)


def test_gauges_and_sums() -> None:
    found, dropped = decoded(
        metrics(
            gauge("a.rate", point(1.5, topic="t", partition=7), point(-3)),
            total("b.count", point(2)),
            total("c.count", point(9.0), temporality=CUMULATIVE),
            total("d.size", point(4), temporality=CUMULATIVE, only_grows=False),
            client_rack="r1",
        )
    )
    rack = ("client_rack", "r1")
    assert dropped == 0
    assert found == [
        Point("a.rate", (rack, ("partition", "7"), ("topic", "t")), Kind.GAUGE, 1.5),
        Point("a.rate", (rack,), Kind.GAUGE, -3.0),
        Point("b.count", (rack,), Kind.DELTA, 2.0),
        Point("c.count", (rack,), Kind.TOTAL, 9.0),
        Point("d.size", (rack,), Kind.GAUGE, 4.0),
    ]


def test_labels_of_each_type_and_a_resource_behind_its_metrics() -> None:
    scope = inside(2, gauge("a", point(1, yes=True, less=-1, half=0.5)))
    (found,), _ = decoded(inside(1, scope, inside(1, labels(1, {"late": "l"}))))
    assert found.labels == (("half", "0.5"), ("late", "l"), ("less", "-1"), ("yes", "true"))


def test_histograms_have_a_sum_and_a_count_and_what_is_unknown_is_stepped_over() -> None:
    body = inside(
        HISTOGRAM,
        inside(1, b"\x21" + struct.pack("<Q", 3), b"\x29" + struct.pack("<d", 4.5), labels(9, {"x": "y"})),
        b"\x10" + bytes([DELTA]),
    )
    summary = inside(2, inside(1, b"s"), inside(SUMMARY, inside(1, b"")))
    found, _ = decoded(metrics(inside(2, inside(1, b"h"), body), summary, inside(99, b"new"), b"\x9d\x06abcd"))
    assert found == [
        Point("h.count", (("x", "y"),), Kind.DELTA, 3.0),
        Point("h.sum", (("x", "y"),), Kind.DELTA, 4.5),
    ]


def test_more_points_than_wanted_are_counted_and_not_made() -> None:
    found, dropped = decoded(metrics(gauge("a", *(point(n) for n in range(7)))), most=3)
    assert ([each.value for each in found], dropped) == ([0, 1, 2], 4)


@pytest.mark.parametrize(
    "one",
    [
        gauge("n" * 201, point(1)),
        gauge("a", point(1, label="v" * 1000)),
        gauge("a", point(1, **{f"l{number}": 1 for number in range(17)})),
    ],
    ids=["name", "value", "labels"],
)
def test_what_is_too_long_is_dropped(one: bytes) -> None:
    assert decoded(metrics(one, gauge("b", point(1)))) == ([Point("b", (), Kind.GAUGE, 1.0)], 1)


@pytest.mark.parametrize(
    "data",
    [
        metrics(gauge("a", point(1)))[:-1],
        b"\xff" * 20,
        b"\x0a",
        b"\x0b",
        b"\x02\x00",
        metrics(inside(2, inside(1, b"\xff"), inside(5, point(1)))),
    ],
    ids=["short", "number", "length", "group", "field", "text"],
)
def test_what_is_no_metrics_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMetrics):
        decoded(data)


def test_the_walk_ends_and_breathes() -> None:
    breaths = []
    with pytest.raises(MalformedMetrics, match="more than 500000 fields"):
        decode(b"\x0a\x00" * 500_001, 10, lambda: breaths.append(1))
    assert len(breaths) == 500


@given(st.binary(max_size=200))
def test_any_bytes_are_points_or_malformed(data: bytes) -> None:
    try:
        found, _ = decoded(data)
    except MalformedMetrics:
        return
    assert len(found) <= 100
