"""The loads of raw requests at pykbroker, in small: each has its rows, and what a load is about did happen. Numbers are for no test to judge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from scripts.bench_job import housekeeping
from scripts.bench_job.brokers import make_pair
from scripts.bench_job.cold_reads import ColdReads
from scripts.bench_job.counted_loads import COORDINATED, Ask, Load, requests
from scripts.bench_job.housekeeping import AtWork
from scripts.bench_job.many import Many
from scripts.bench_job.plans import Load as Planned
from scripts.bench_job.raw_requests import Crowds, OneAfterAnother


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    _, ours = make_pair(tmp_path_factory.mktemp("rows"))
    ours.start()
    yield ours
    ours.stop()


def rows(load: Planned, broker: BrokerProcess) -> list[str]:
    readings = load.run(broker, "small")
    assert all(each.cost > 0 for each in readings)
    return [each.row for each in readings]


def test_requests_of_one_client(broker: BrokerProcess) -> None:
    assert rows(OneAfterAnother(5), broker) == [load.name for load in COORDINATED]
    assert rows(OneAfterAnother(5), broker) == [load.name for load in COORDINATED]  # the next round, on the same broker


def test_crowds(broker: BrokerProcess) -> None:
    assert rows(Crowds(200), broker)[:3] == [
        f"Produce, one record: {of}"
        for of in ("50 connections, 1 in flight", "1 connection, 20 in flight", "50 connections, 20 in flight")
    ]


def test_a_crowd_whose_requests_are_refused_has_no_row(broker: BrokerProcess) -> None:
    def prepare(connection: Connection) -> Ask:
        return partial(requests, connection, HeartbeatRequest("unknown", 1, "nobody"), 4)

    with pytest.raises(AssertionError, match="error_code=25"):
        Crowds(10)._one(broker, Load("Heartbeat", prepare), 1, 1)


def test_cold_reads(broker: BrokerProcess) -> None:
    assert rows(ColdReads(2), broker) == ["fetches of 900 KB, cold pages", "fetches of 900 KB, warm pages"]


def test_the_cleaner_and_retention_are_at_work(broker: BrokerProcess, tmp_path: Path) -> None:
    found = rows(AtWork(tmp_path, 20), broker)
    assert found[2:4] == ["produce each ms, alone, p99.9", "produce each ms, cleaner and retention at work, p50"]


def test_a_cleaner_that_is_not_at_work_is_told(
    broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(housekeeping._SETTINGS, "log.cleaner.enable", "false")
    monkeypatch.setattr(housekeeping, "_PATIENCE_S", 3.0)
    with pytest.raises(TimeoutError, match="has not compacted"):
        AtWork(tmp_path, 20).run(broker, "small")


def test_memory_of_one_more(broker: BrokerProcess, tmp_path: Path) -> None:
    assert rows(Many(tmp_path, 20, 20, 20), broker) == [
        "connections, each with ApiVersions",
        "memory of a connection",
        "produce among 20 connections, p50",
        "produce among 20 connections, p99",
        "memory of a partition, of 20",
        "memory of a group with an offset, of 20",
    ]
