"""Compares a profile's numbers with those counted by hand."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import Producer

from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.profile.aggregation import ProfileOptions, measured
from pykbroker.lake.profile.page import page
from pykbroker.lake.profile.statistics import Bin, Key, KeysOfCount, PartitionStatistics, Pause

NOON_MS = 1_357_041_600_000  # 2013-01-01T12:00Z


def test_a_profile_counts_what_is_there(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create(2, retention_ms="-1")
    stamps = [NOON_MS + 1000 * each for each in (0, 60, 58, 3600)]
    topics.send(
        topic, ["same", "same", "other", "x" * 100], 0, key=b"often\n", timestamps=stamps, headers=[("a", b"1")]
    )
    topics.send(topic, ["v"], 1, key=b"once", timestamps=[NOON_MS])
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(topic, None, partition=1, timestamp=NOON_MS + 500)
        assert producer.flush(30) == 0
        end(30)
    workshop = make()
    workshop.archive(topic)
    (facts,) = measured(workshop.lake, ProfileOptions(topic))
    assert (facts.records, facts.bytes, facts.first_ms, facts.last_ms) == (6, 142, NOON_MS, NOON_MS + 3_600_000)
    assert (facts.keys, facts.without_key, facts.tombstones, facts.with_headers, facts.repeats) == (2, 1, 1, 4, 1)
    assert facts.partitions == [PartitionStatistics(0, 4, 137, 0, 3, 0), PartitionStatistics(1, 2, 5, 0, 3, 2)]
    assert (facts.step_ms, sum(each.records for each in facts.volume)) == (60_000, 6)
    assert facts.volume == [Bin(NOON_MS, 4), Bin(NOON_MS + 60_000, 1), Bin(NOON_MS + 3_600_000, 1)]
    assert facts.sizes == [Bin(0, 1), Bin(4, 1), Bin(8, 3), Bin(64, 1)]
    assert facts.lateness == [Bin(0, 5), Bin(1000, 1)]
    assert facts.late_percentiles["all"] == 2000
    assert facts.size_percentiles["all"] == 106
    assert facts.top_keys == [Key("often\\n", 4, 1), Key("once", 1, 0)]
    assert facts.key_counts == [KeysOfCount(1, 1, 1), KeysOfCount(4, 1, 4)]
    pauses = [(0, 60_000, 3_600_000), (0, 0, 60_000), (1, 0, 500)]
    assert facts.pauses == [Pause(number, NOON_MS + start, NOON_MS + end) for number, start, end in pauses]
    assert facts.as_json()["top_keys"][0] == {"text": "often\\n", "records": 4, "repeats": 1}
    assert "often\\n" in page("lake", "now", [facts])
    assert measured(workshop.lake, ProfileOptions(topic, since_ms=NOON_MS + 7_200_000)) == []
