from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.controller.placement import place_partitions
from pykbroker.metadata.image import BrokerImage
from pykbroker.wire.errors import ErrorCode, KafkaError

NONE_LEFT = "All brokers are currently fenced, or have all their log directories cordoned."


def broker(broker_id, rack=None, fenced=False, *, cordoned=False):
    directories = [bytes(range(16))]
    return BrokerImage(
        broker_id, 0, bytes(16), {}, {}, rack, fenced, False, directories, directories if cordoned else []
    )


def test_leaders_and_replicas_are_spread_evenly():
    placed = place_partitions([broker(i) for i in range(1, 6)], 20, 3, random.Random(7))
    assert all(len(set(replicas)) == 3 for replicas in placed)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {4}
    assert set(Counter(i for replicas in placed for i in replicas).values()) == {12}


def test_the_start_is_random():
    first = {place_partitions([broker(i) for i in range(3)], 1, 1, random.Random(seed))[0][0] for seed in range(20)}
    assert first == {0, 1, 2}


def test_replicas_lie_in_different_racks():
    brokers = [broker(1, "a"), broker(2, "a"), broker(3, "b"), broker(4, "b"), broker(5, "c"), broker(6, "c")]
    rack = {known.id: known.rack for known in brokers}
    for replicas in place_partitions(brokers, 30, 3, random.Random(3)):
        assert {rack[i] for i in replicas} == {"a", "b", "c"}


def test_the_leader_is_never_fenced_and_fenced_brokers_come_last():
    brokers = [broker(1), broker(2, fenced=True), broker(3)]
    placed = place_partitions(brokers, 10, 2, random.Random(1))
    assert all(set(replicas) == {1, 3} for replicas in placed)
    placed = place_partitions(brokers, 10, 3, random.Random(1))
    assert all(replicas[2] == 2 for replicas in placed)


@pytest.mark.parametrize(
    ("brokers", "factor", "message"),
    [
        ([], 1, NONE_LEFT),
        ([broker(1, fenced=True)], 1, NONE_LEFT),
        ([broker(1, cordoned=True)], 1, NONE_LEFT),
        (
            [broker(1), broker(2, cordoned=True)],
            2,
            (
                "The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some "
                "brokers have all their log directories cordoned."
            ),
        ),
        (
            [broker(1)],
            2,
            (
                "The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some "
                "brokers have all their log directories cordoned."
            ),
        ),
    ],
)
def test_too_few_brokers(brokers, factor, message):
    with pytest.raises(KafkaError) as caught:
        place_partitions(brokers, 1, factor, random.Random(1))
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert caught.value.message == message


@given(
    st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 40),
    st.data(),
    st.integers(),
)
def test_any_cluster_gets_whole_and_distinct_replicas(shape, count, data, seed):
    brokers = [broker(i, rack, fenced) for i, (rack, fenced) in enumerate(shape)]
    brokers.append(broker(99))
    factor = data.draw(st.integers(1, len(brokers)))
    placed = place_partitions(brokers, count, factor, random.Random(seed))
    assert len(placed) == count
    unfenced = {known.id for known in brokers if not known.fenced}
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert replicas[0] in unfenced
