"""Topics and partitions: pages of them, and their changes."""

from __future__ import annotations

import asyncio

from pykbroker.tests.http.http_client import WithHttp, with_http


def test_pages_of_topics_with_their_sums(http: WithHttp) -> None:
    for name in ("list-b", "list-a", "list-c"):
        http.kafka.create_topic(name, 3)
    for value in ("one", "two"):
        http.kafka.produce("list-b", value)
    found = http.look("/topics", match="LIST-", limit=2)
    assert (found["total"], [each["name"] for each in found["topics"]]) == (3, ["list-a", "list-b"])
    second = found["topics"][1]
    assert (second["partitions"], second["records"], second["internal"], second["offline"]) == (3, 2, False, 0)
    assert second["bytes"] > 100
    assert [each["name"] for each in http.look("/topics", match="list-", start=2)["topics"]] == ["list-c"]
    assert http.look("/topics", match="list-", start=9)["topics"] == []


def test_one_topic_and_none(http: WithHttp) -> None:
    http.kafka.create_topic("single", 2)
    assert http.look("/topic", topic="single")["partitions"] == 2
    assert http.refusal("/topic", topic="nobody") == (404, "there is no topic nobody")
    assert http.refusal("/partitions", topic="nobody")[0] == 404


def test_internal_topics_come_last(http: WithHttp) -> None:
    http.kafka.create_topic("zzz")
    http.change("/groups/reset", group="makes-offsets", topic="zzz", to="latest")
    last = http.look("/topics", limit=200)["topics"][-1]
    assert (last["name"], last["internal"]) == ("__consumer_offsets", True)


def test_pages_of_partitions(http: WithHttp) -> None:
    http.kafka.create_topic("wide", 5)
    http.kafka.produce("wide", "x", partition=3)
    found = http.look("/partitions", topic="wide", start=2, limit=2)
    assert (found["total"], [each["index"] for each in found["partitions"]]) == (5, [2, 3])
    three = found["partitions"][1]
    assert (three["begin"], three["end"], three["stable"], three["segments"]) == (0, 1, 1, 1)
    assert three["leader"] in three["isr"] == three["replicas"]


def test_create_add_empty_and_delete(http: WithHttp) -> None:
    settings = [{"name": "retention.ms", "value": "1000"}]
    assert http.change("/topics/create", topic="made", partitions=2, configs=settings)["partitions"] == 2
    assert http.changed("/topics/create", topic="made").json["title"].startswith("TOPIC_ALREADY_EXISTS")
    http.change("/topics/partitions", topic="made", count=4)
    assert http.look("/topic", topic="made")["partitions"] == 4
    assert http.changed("/topics/partitions", topic="made", count=3).json["title"].startswith("INVALID_PARTITIONS")
    http.kafka.produce("made", "x", partition=1)
    assert http.change("/topics/empty", topic="made", partition=1, offset=-1) == {"begin": 1}
    http.change("/topics/delete", topic="made")
    assert "made" not in http.kafka.topics()
    assert http.changed("/topics/delete", topic="made").json["title"].startswith("UNKNOWN_TOPIC_OR_PARTITION")
    bad = [{"name": "retention.ms", "value": "soon"}]
    assert http.changed("/topics/create", topic="made", configs=bad).json["title"].startswith("INVALID_CONFIG")


def test_logs_that_lie_closed_since_the_start_are_opened_when_somebody_looks(tmp_path) -> None:
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("old", 2)
        http.kafka.produce("old", "x", partition=0)
    with with_http(data_dir=tmp_path) as http:
        assert http.look("/topic", topic="old")["closed"] == 1  # the other was never written to
        assert http.look("/partitions", topic="old")["partitions"][0]["end"] == 1
        found = http.look("/topic", topic="old")
        assert (found["closed"], found["records"]) == (0, 1)


def test_partitions_without_a_leader_are_told() -> None:
    with with_http(brokers=2) as http:
        http.kafka.create_topic("t", 2)
        (led_by_two,) = [
            each["index"] for each in http.look("/partitions", topic="t")["partitions"] if each["leader"] == 2
        ]
        http.kafka.broker(2).stop()
        assert http.look("/topic", topic="t")["offline"] == 1
        assert http.look("/overview")["offline"] == 1
        assert http.look("/partitions", topic="t")["partitions"][led_by_two]["leader"] == -1
        answer = http.changed("/records/produce", topic="t", partition=led_by_two, value="x")
        assert (answer.status, "no leader" in answer.json["title"]) == (409, True)


def test_logs_that_a_page_creates_leave_clients_their_turns(http: WithHttp) -> None:
    http.kafka.create_topic("never-used", 200)
    at_once = http.kafka._embedded.begin(_most_created_in_a_turn(http)).result()
    assert 0 < at_once < 10


async def _most_created_in_a_turn(http: WithHttp) -> int:
    partitions = [http.kafka.node.cluster.partition("never-used", index) for index in range(200)]
    asked = asyncio.ensure_future(asyncio.to_thread(http.look, "/partitions", topic="never-used", limit=200))
    before = most = 0
    while not asked.done():
        await asyncio.sleep(0)
        created = sum(each is not None and each.opened_log is not None for each in partitions)
        most, before = max(most, created - before), created
    await asked
    return most
