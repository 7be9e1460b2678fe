"""How long and large logs are, also those that nobody has opened yet."""

from __future__ import annotations

from pathlib import Path

from pykbroker.tests.http.http_client import of, with_http

_HERE = {"topic": "t", "partition": "0"}
_NAMES = ("kafka_topic_partition_current_offset", "kafka_topic_partition_oldest_offset", "kafka_log_log_numlogsegments")


def test_offsets_sizes_and_segments(tmp_path: Path) -> None:
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("t", configs={"segment.bytes": 1024 * 1024})
        assert [of(http.metrics()[name], **_HERE) for name in _NAMES] == [0, 0, 0]  # nothing is made before it is used
        for _ in range(3):
            http.kafka.produce("t", "v" * 700_000)
        found = http.metrics()
        assert [of(found[name], **_HERE) for name in _NAMES] == [3, 0, 3]
        assert of(found["kafka_log_log_size"], **_HERE) == sum(
            each.stat().st_size for each in (tmp_path / "t-0").glob("*.log")
        )


def test_a_log_that_is_closed_since_the_start_is_not_opened_for_a_scrape(tmp_path: Path) -> None:
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("t")
        http.kafka.produce("t", "v")
    with with_http(data_dir=tmp_path, clock="manual") as http:
        found = http.metrics()
        assert found["pykbroker_logs_closed"] == {(): 1}
        assert _NAMES[0] not in found
        assert of(found["kafka_topic_partition_leader"], **_HERE) == 1
        http.kafka.advance("5s")
        found = http.metrics()
        assert found["pykbroker_logs_closed"] == {(): 0}
        assert of(found[_NAMES[0]], **_HERE) == 1
