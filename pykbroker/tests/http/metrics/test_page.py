"""The page of a scrape is what Prometheus reads, whatever groups are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.http.metrics.metric import gauge, histogram, summary
from pykbroker.http.metrics.page import Page
from pykbroker.http.metrics.times import QUANTILES, Times
from pykbroker.tests.http.http_client import parsed

_SIZE = gauge("size", 'How "large" it is \\ was,\nin bytes.', "name", "kind", moves="")
_OTHER = gauge("other", "Another.", "name", moves="")
_TOOK = summary("took_ms", "How long it took.", "name", moves="")
_SECONDS = histogram("seconds", "The same.", "name", moves="")


def _text(page: Page) -> str:
    return b"".join(page.chunks()).decode()


@given(st.dictionaries(st.text(max_size=10), st.integers(-(2**53), 2**53), max_size=5))
def test_any_label_is_read_back(sizes: dict[str, int]) -> None:
    page = Page()
    for name, size in sizes.items():
        page.add(_SIZE, size, name, "x")
    found = parsed(_text(page)).get("size", {})
    assert found == {(("kind", "x"), ("name", name)): float(size) for name, size in sizes.items()}


def test_a_metric_without_samples_is_not_there() -> None:
    page = Page()
    page.lines(_SIZE)
    assert _text(page) == ""


def test_times_are_a_summary_and_a_histogram() -> None:
    first, second = Times(), Times()
    for _ in range(98):
        first.note(0.001)
    second.note(0.5)
    second.note(0.5)
    page = Page()
    page.add_times(_TOOK, (first, second), 10.0, 1000, "Produce")
    page.add_histogram(_SECONDS, (first, second), "Produce")
    text = _text(page)
    assert "# TYPE took_ms summary\n" in text
    assert "# TYPE seconds histogram\n" in text
    found = parsed(text)
    name = ("name", "Produce")
    quantiles = {key[1][1]: value for key, value in found["took_ms"].items()}
    assert quantiles.keys() == QUANTILES.keys()
    assert 1 <= quantiles["0.50"] == quantiles["0.98"] < 1.2
    assert 500 <= quantiles["0.99"] < 570
    assert found["took_ms_count"] == {(name,): 100}
    assert found["took_ms_sum"] == {(name,): pytest.approx(1098)}
    buckets = {dict(key)["le"]: value for key, value in found["seconds_bucket"].items()}
    assert (buckets["0.000512"], buckets["0.002048"], buckets["0.524288"], buckets["+Inf"]) == (0, 98, 100, 100)
    assert found["seconds_count"] == {(name,): 100}


def test_no_quantiles_of_nothing() -> None:
    page = Page()
    page.add_times(_TOOK, (Times(),), 10.0, 1000, "Produce")
    assert parsed(_text(page)).keys() == {"took_ms_sum", "took_ms_count"}


def test_many_lines_come_in_pieces() -> None:
    page = Page()
    for number in range(5200):
        page.add(_SIZE, number, f"n{number}", "x")
        if number % 100 == 0:
            page.add(_OTHER, number, f"n{number}")
    chunks = list(page.chunks())
    assert len(chunks) == 22  # 250 lines each, whatever metrics they are of, and the rest
    assert all(len(chunk.splitlines()) <= 252 for chunk in chunks)
    assert not list(page.chunks())  # what was told is not kept
    found = parsed(b"".join(chunks).decode())
    assert [value for _, value in found["size"].items()] == list(range(5200))
    assert [value for _, value in found["other"].items()] == list(range(0, 5200, 100))
