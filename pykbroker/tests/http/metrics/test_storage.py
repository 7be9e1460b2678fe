"""Log directories, compaction, recovery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.http.metrics.storage import _IN_A_STEP, dirty_bytes
from pykbroker.tests.http.http_client import of, with_http
from pykbroker.wire.errors import KafkaError

_COMPACTED = {"cleanup.policy": "compact", "segment.bytes": 1024 * 1024, "min.cleanable.dirty.ratio": 0.1}


def test_compactions_are_counted_with_what_they_left() -> None:
    with with_http(clock="manual", settings={"log.cleaner.backoff.ms": 3_600_000}) as http:
        http.kafka.create_topic("t", configs=_COMPACTED)
        for number in range(5):
            http.kafka.produce("t", f"{number}" * 700_000, key="same")
        before = http.metrics()
        assert of(before["pykbroker_compaction_dirty_bytes"]) > 2_000_000
        assert of(before["kafka_log_logcleanermanager_max_dirty_percent"]) == 100
        http.kafka.advance("2s")  # only what is synced is compacted
        http.kafka.run_compaction()
        after = http.metrics()
        assert after["pykbroker_compactions_total"] == {(): 1}
        assert after["pykbroker_compactions_failed_total"] == {(): 0}
        read, written = (of(after[f"pykbroker_compaction_{name}_bytes_total"]) for name in ("read", "written"))
        assert read > 2_000_000 > written > 0
        assert of(after["pykbroker_compaction_dirty_bytes"]) < of(before["pykbroker_compaction_dirty_bytes"])


def test_segments_are_summed_in_steps() -> None:
    """Of a log that is never compacted there may be any number."""
    with with_http(clock="manual", settings={"log.cleaner.backoff.ms": 3_600_000}) as http:
        http.kafka.create_topic("t", configs={"cleanup.policy": "compact", "segment.ms": 1000})
        for _ in range(3 * _IN_A_STEP):
            http.kafka.produce("t", "v", key="k")
            http.kafka.advance("2s")

        def summed(cluster: Cluster) -> tuple[list[None], list[int], tuple[int, int]]:
            found = []

            def work() -> Iterator[None]:
                found.append((yield from dirty_bytes(log, 10)))

            partition = cluster.partition("t", 0)
            assert partition is not None
            log = partition.log
            return list(work()), [segment.size for segment in log.segments[:-1]], found[0]

        waits, closed, dirty = http.kafka._ask(summed)
    assert dirty == (sum(closed[10:]), sum(closed))
    assert len(closed) >= 3 * _IN_A_STEP - 1
    assert len(waits) == 2


def test_a_disk_that_fails_is_told(tmp_path: Path) -> None:
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("t")
        http.kafka.produce("t", "v")
        fine = http.metrics()
        here = {"logDirectory": str(tmp_path)}
        assert fine["kafka_log_logmanager_offlinelogdirectorycount"] == {(): 0}
        assert of(fine["pykbroker_log_directory_total_bytes"], **here) > of(
            fine["pykbroker_log_directory_free_bytes"], **here
        )
        http.kafka.disk.fill()
        with pytest.raises(KafkaError):
            http.kafka.produce("t", "v")
        assert of(http.metrics()["pykbroker_log_directory_full"], **here) == 1
        http.kafka.disk.heal()


def test_a_recovery_is_told(tmp_path: Path) -> None:
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("t")
        http.kafka.produce("t", "v")
        assert http.metrics()["pykbroker_recovered_logs"] == {(): 0}
    for name in (".kafka_cleanshutdown", "pykbroker-closed-logs"):
        (tmp_path / name).unlink()
    with with_http(data_dir=tmp_path) as http:
        assert http.metrics()["pykbroker_recovered_logs"] == {(): 1}
