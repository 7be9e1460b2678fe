"""``pykbroker topics``: list, create, describe, alter, delete. Nothing is skipped."""

from __future__ import annotations

import time
from collections.abc import Callable

from compat_tests.cli.conftest import Result
from compat_tests.harness.process import BrokerProcess

Run = Callable[..., Result]


def test_create_list_describe_delete(run: Run, name: Callable[..., str]) -> None:
    one, two = name("one"), name("two")
    created = run("topics", "create", one, two, "-p", "2", "-r", "1", "-c", "retention.ms=3600000")
    assert created.lines == [f"{one} created", f"{two} created"]

    rows = [line.split("\t") for line in run("topics", "list").lines]
    assert rows[0] == ["TOPIC", "PARTITIONS", "REPLICAS"]
    assert [one, "2", "1"] in rows
    listed = {row["name"]: row for row in run("topics", "list", "--json").json}
    assert listed[two]["partitions"] == 2

    (described,) = run("topics", "describe", one, "--json").json
    assert described["id"] == listed[one]["id"]
    assert [(p["partition"], p["start"], p["end"]) for p in described["partitions"]] == [(0, 0, 0), (1, 0, 0)]
    settings = {item["name"]: item for item in described["config"]}
    assert settings["retention.ms"] == {
        "name": "retention.ms",
        "value": "3600000",
        "set_on_topic": True,
        "source": "DYNAMIC_TOPIC_CONFIG",
    }
    assert not settings["cleanup.policy"]["set_on_topic"]
    assert settings["cleanup.policy"]["source"] == "DEFAULT_CONFIG"
    assert "retention.ms\t3600000" in run("topics", "describe", one).lines

    assert run("topics", "delete", one, two, "--yes").lines == [f"{one} deleted", f"{two} deleted"]
    assert one not in run("topics", "list").out


def test_where_every_setting_comes_from(start_target: Callable[..., BrokerProcess], run: Run) -> None:
    broker = start_target({"log.flush.interval.messages": "7000"})
    run("topics", "create", "t", "-c", "retention.ms=3600000", "-b", broker.bootstrap)
    lines = run("topics", "describe", "t", "--all-config", "-b", broker.bootstrap).lines
    assert "SETTING\tVALUE\tFROM" in lines
    assert "retention.ms\t3600000\tthe topic" in lines
    assert "flush.messages\t7000\tthe broker's file or command line" in lines
    assert "cleanup.policy\tdelete\tdefault" in lines


def test_counts_agree_in_number(run: Run, name: Callable[..., str]) -> None:
    one = name("one")
    run("topics", "create", one, "-p", "1")
    run("produce", one, stdin=b"only")
    assert run("topics", "describe", one).lines[0].startswith(f"{one}  1 partition, 1 offset in use, id ")
    run("produce", one, stdin=b"another")
    assert run("topics", "describe", one).lines[0].startswith(f"{one}  1 partition, 2 offsets in use, id ")


def test_a_topic_that_exists(run: Run, topic: str) -> None:
    again = run("topics", "create", topic)
    assert again.status == 1
    assert f"Topic {topic}: " in again.err
    assert "(TOPIC_ALREADY_EXISTS). Add --if-not-exists" in again.err
    assert run("topics", "create", topic, "--if-not-exists").lines == [f"{topic} exists already"]


def test_a_topic_that_does_not_exist(run: Run, name: Callable[..., str]) -> None:
    missing = name("missing")
    for command in (("describe", missing), ("delete", missing, "-y"), ("alter", missing, "-c", "retention.ms=1")):
        result = run("topics", *command)
        assert result.status == 1
        assert f"Topic {missing}: " in result.err
        assert "(UNKNOWN_TOPIC_OR_PARTITION)" in result.err
    assert run("topics", "delete", missing, "-y", "--if-exists").status == 0


def test_a_dry_run_creates_nothing(run: Run, name: Callable[..., str]) -> None:
    planned = name("planned")
    assert run("topics", "create", planned, "--dry-run").lines == [f"{planned} would be created"]
    assert planned not in run("topics", "list").out
    assert run("topics", "create", planned, "--dry-run", "-c", "retention.ms=soon").status == 1


def test_bad_requests_are_told_one_by_one(run: Run, name: Callable[..., str]) -> None:
    good = name("good")
    result = run("topics", "create", good, "not/good", "--json")
    assert result.status == 1
    assert "Topic not/good: " in result.err
    assert "(INVALID_TOPIC_EXCEPTION)" in result.err
    assert '"error": null' in result.out
    assert good in run("topics", "list").out
    assert "INVALID_REPLICATION_FACTOR" in run("topics", "create", name("wide"), "-r", "50").err


def test_settings_are_set_and_taken_back(run: Run, topic: str) -> None:
    changed = run("topics", "alter", topic, "-c", "max.message.bytes=4096", "-c", "retention.ms=60000")
    assert changed.lines == [f"{topic} has new settings"]

    def wait_for(expected: dict[str, str]) -> None:
        """Apache Kafka's brokers learn of settings a moment after they were accepted."""
        deadline = time.monotonic() + 30
        on_topic: dict[str, str] = {}
        while on_topic != expected:
            assert time.monotonic() < deadline, on_topic
            (described,) = run("topics", "describe", topic, "--json").json
            on_topic = {item["name"]: item["value"] for item in described["config"] if item["set_on_topic"]}

    wait_for({"max.message.bytes": "4096", "retention.ms": "60000"})
    assert run("topics", "alter", topic, "-d", "retention.ms").status == 0
    wait_for({"max.message.bytes": "4096"})
    refused = run("topics", "alter", topic, "-c", "max.message.bytes=many")
    assert refused.status == 1
    assert "(INVALID_CONFIG)" in refused.err
    wait_for({"max.message.bytes": "4096"})


def test_partitions_only_grow(run: Run, topic: str) -> None:
    assert run("topics", "alter", topic, "-p", "5").lines == [f"{topic} has 5 partitions"]
    (described,) = run("topics", "describe", topic, "--json").json
    assert len(described["partitions"]) == 5
    result = run("topics", "alter", topic, "-p", "2")
    assert result.status == 1
    assert "(INVALID_PARTITIONS)" in result.err


def test_internal_topics_are_shown_on_request(run: Run, topic: str) -> None:
    run("consume", topic, "--exit", "--group", "makes-the-offsets-topic")
    assert "__consumer_offsets" not in run("topics", "list").out
    assert "__consumer_offsets" in run("topics", "list", "--internal").out
