"""Groups: state, members, committed offsets, lag, as kafka_exporter would tell them."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from pykbroker.tests.http.http_client import WithHttp, of, with_http

_GROUP = "kafka_consumergroup_"


def _consumer(http: WithHttp, group: str, **settings: object) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": http.kafka.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )


def test_no_groups(http: WithHttp) -> None:
    found = http.metrics()
    assert found["kafka_coordinator_group_groupmetadatamanager_numgroups"] == {(): 0}
    assert not [name for name in found if name.startswith(_GROUP)]


def test_committed_offsets_and_lag(http: WithHttp) -> None:
    http.kafka.create_topic("t", 2)
    for number in range(5):
        http.kafka.produce("t", f"v{number}", partition=number % 2)
    consumer = _consumer(http, 'g"1\n')
    consumer.commit(offsets=[TopicPartition("t", 0, 1), TopicPartition("t", 1, 2)], asynchronous=False)
    consumer.close()
    found = http.metrics()
    here = {"consumergroup": 'g"1\n', "topic": "t"}
    assert [of(found[_GROUP + "current_offset"], **here, partition=index) for index in "01"] == [1, 2]
    assert [of(found[_GROUP + "lag"], **here, partition=index) for index in "01"] == [2, 0]
    assert (of(found[_GROUP + "current_offset_sum"], **here), of(found[_GROUP + "lag_sum"], **here)) == (3, 2)
    assert of(found["pykbroker_group_state"], consumergroup='g"1\n', type="classic", state="Empty") == 1
    assert found["kafka_coordinator_group_groupmetadatamanager_numoffsets"] == {(): 2}


def test_members_and_states_of_both_kinds(http: WithHttp) -> None:
    http.kafka.create_topic("t")
    members = [
        _consumer(http, "classic"),
        _consumer(http, "new", **{"group.protocol": "consumer"}),
    ]
    for each in members:
        each.subscribe(["t"])
    for each, group in zip(members, ("classic", "new"), strict=True):
        while not each.assignment():
            each.poll(0.05)
        http.kafka.wait_for_group(group, "Stable", timeout=20)
    found = http.metrics()
    by_protocol = found["kafka_server_group_coordinator_metrics_group_count"]
    assert [of(by_protocol, protocol=each) for each in ("classic", "consumer", "share", "streams")] == [1, 1, 0, 0]
    assert of(found["kafka_server_group_coordinator_metrics_consumer_group_count"], state="Stable") == 1
    for group, kind in (("classic", "classic"), ("new", "consumer")):
        assert of(found[_GROUP + "members"], consumergroup=group) == 1
        assert of(found["pykbroker_group_state"], consumergroup=group, type=kind, state="Stable") == 1
        assert of(found["pykbroker_groups"], type=kind, state="Stable") == 1
    assert found["kafka_coordinator_group_groupmetadatamanager_numgroups"] == {(): 2}
    assert found["kafka_coordinator_group_groupmetadatamanager_numgroupsstable"] == {(): 1}
    for each in members:
        each.close()


def test_a_group_that_nobody_asked_for_since_the_start_is_there(tmp_path: Path) -> None:
    """A consumer that is down, whose lag grows, is what one wants to be told of after a restart of the broker."""
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("t")
        http.kafka.produce("t", "v")
        consumer = _consumer(http, "down")
        consumer.commit(offsets=[TopicPartition("t", 0, 0)], asynchronous=False)
        consumer.close()
    with with_http(data_dir=tmp_path) as http:
        http.metrics()  # begins the reading
        http.kafka.wait_until(lambda cluster: not cluster.store.dormant.partitions and not len(cluster.runtime.slices))
        found = http.metrics()
        assert of(found[_GROUP + "lag"], consumergroup="down", topic="t", partition="0") == 1
