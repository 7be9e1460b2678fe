"""The process itself, and its event loop."""

from __future__ import annotations

import threading
import time

import pytest

from pykbroker import __version__
from pykbroker.http.metrics import process
from pykbroker.tests.http.http_client import WithHttp, of


def test_memory_descriptors_and_version(http: WithHttp) -> None:
    found = http.metrics()
    assert of(found["process_resident_memory_bytes"]) > 10_000_000
    assert of(found["process_open_fds"]) > 5
    assert of(found["process_cpu_seconds_total"]) > 0
    assert found["pykbroker_build_info"] == {(("version", __version__),): 1}
    assert "python_gc_collections_total" in found
    assert 0 <= of(found["kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"]) <= 1


@pytest.mark.parametrize("count", [0, 100_000])
def test_many_descriptors_and_an_unknown_number_are_counted_in_a_thread(
    http: WithHttp, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = http.metrics()
    in_threads = []
    told = process._collected
    monkeypatch.setattr(process, "_open_descriptors", lambda: count)
    monkeypatch.setattr(process, "_collected", lambda given: in_threads.append(threading.get_ident()) or told(given))
    there = http.metrics()
    names = {name for name in here if name.startswith(("process_", "python_"))}
    assert names == {name for name in there if name.startswith(("process_", "python_"))}
    assert of(there["process_open_fds"]) > 5
    assert in_threads
    assert http.kafka._ask(lambda _: threading.get_ident()) not in in_threads


def test_a_loop_that_was_held_up_is_seen(http: WithHttp) -> None:
    http.kafka.wait_until(lambda _: http.side._lag.times.count)
    before = http.metrics()
    http.kafka._ask(lambda _: time.sleep(0.3))
    http.kafka.wait_until(lambda _: http.side._lag.times.longest(time.monotonic()) > 0.2)
    after = http.metrics()
    assert of(after["pykbroker_loop_lag_longest_seconds"]) > 0.2
    assert of(after["pykbroker_loop_lag_seconds_count"]) > of(before["pykbroker_loop_lag_seconds_count"])
    assert of(after["pykbroker_loop_lag_seconds_sum"]) > 0.2
