"""Commands of clients and of checks of health as the image has them, beside Kafka's own where there is one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.harness.kafka_tools import KafkaTools, ToolResult, tool_command
from compat_tests.tools.by_name import ours, ours_here
from scripts.jars import ROOT

Both = Callable[..., tuple[ToolResult, ToolResult]]
_TIMES = ("timestamp", "avg_throughput")


@pytest.fixture
def both(kafka_tools: KafkaTools, bootstrap: str) -> Both:
    """Kafka's answer, and ours, to the same words."""

    def run(name: str, *words: str) -> tuple[ToolResult, ToolResult]:
        given = (name, "--bootstrap-server", bootstrap, *words)
        return kafka_tools(*given), ours_here(*given)

    return run


def events(result: ToolResult, *names: str) -> list[dict[str, Any]]:
    """The lines of these names, without their times."""
    found = [json.loads(line) for line in result.lines if line.startswith("{")]
    return [
        {key: each[key] for key in each if key not in _TIMES} for each in found if not names or each["name"] in names
    ]


def keys(result: ToolResult) -> dict[str, list[str]]:
    """The fields of the lines of each name, whose order Java leaves open."""
    return {
        each["name"]: sorted(each) for each in map(json.loads, filter(lambda line: line.startswith("{"), result.lines))
    }


@pytest.mark.parametrize(
    ("partitions", "words"),
    [(1, ["--value-prefix", "7"]), (3, ["--repeating-keys", "3", "--acks", "1", "--throughput", "500"])],
)
def test_a_verifiable_producer(
    bootstrap: str, make_topic: Callable[..., str], partitions: int, words: list[str]
) -> None:
    given = ["--bootstrap-server", bootstrap, "--max-messages", "7", *words, "--topic"]
    their_topic, my_topic = make_topic(partitions), make_topic(partitions)
    # In a process of its own: it reports what was acknowledged while its process ends.
    command = [*tool_command("verifiable-producer"), *given, their_topic]
    theirs = ToolResult(0, subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout, "")
    mine = ours("verifiable-producer", *given, my_topic)
    assert mine.status == 0, mine.err

    def reported(result: ToolResult, topic: str) -> list[str]:
        return sorted(json.dumps(each, sort_keys=True).replace(topic, "t") for each in events(result))

    assert reported(mine, my_topic) == reported(theirs, their_topic)
    assert keys(mine) == keys(theirs)
    assert len(events(mine, "producer_send_success")) == 7
    assert [(each["sent"], each["acked"]) for each in events(mine, "tool_data")] == [(7, 7)]


def test_a_verifiable_consumer(
    kafka_tools: KafkaTools,
    bootstrap: str,
    make_topic: Callable[..., str],
    fill: Callable[..., None],
    name: Callable[..., str],
) -> None:
    topic = make_topic(2)
    fill(topic, 0, 1)
    given = ("--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", "15", "--verbose")
    theirs = kafka_tools("verifiable-consumer", *given, "--group-id", name())
    mine = ours("verifiable-consumer", *given, "--group-id", (group := name()))
    assert mine.status == 0, mine.err
    assert keys(mine) == keys(theirs)
    assert events(mine, "startup_complete", "partitions_assigned") == events(
        theirs, "startup_complete", "partitions_assigned"
    )
    records = events(mine, "record_data")
    assert len(records) == 15
    assert {record["value"] for record in records} == {f"value {number}" for number in range(10)}
    described = ours_here("consumer-groups", "--bootstrap-server", bootstrap, "--describe", "--group", group)
    assert sum(int(line.split()[3]) for line in described.lines if topic in line) == 15
    again = ours("verifiable-consumer", *given[:4], "--group-id", group, "--max-messages", "5")
    assert sum(each["count"] for each in events(again, "records_consumed")) == 5


def test_subscriptions_to_metrics_of_clients(both: Both, bootstrap: str, name: Callable[..., str]) -> None:
    mine_is, theirs_is = name("ours"), name("kafkas")
    at = ("--bootstrap-server", bootstrap)
    change = (
        "--metrics",
        "org.apache.kafka.producer.,org.apache.kafka.consumer.",
        "--interval",
        "5000",
        "--match",
        "client_id=a.*,client_software_name=b",
    )
    theirs, _ = both("client-metrics", "--alter", "--name", theirs_is, *change)
    mine = ours_here("client-metrics", *at, "--alter", "--name", mine_is, *change)
    assert (mine.status, mine.out) == (0, theirs.out.replace(theirs_is, mine_is))
    for words in (["--list"], ["--describe", "--name", mine_is], ["--describe", "--name", theirs_is], ["--describe"]):
        theirs, mine = both("client-metrics", *words)
        assert (mine.status, sorted(mine.lines)) == (0, sorted(theirs.lines)), words
    assert ours_here("client-metrics", *at, "--alter", "--name", mine_is, "--interval", "").status == 1
    assert ours_here("client-metrics", *at, "--alter", "--name", mine_is, "--match", "").status == 0
    assert "match=\n" in both("client-metrics", "--describe", "--name", mine_is)[0].out
    for each in (mine_is, theirs_is):
        deleted = ours_here("client-metrics", *at, "--delete", "--name", each)
        assert (deleted.status, deleted.out) == (0, f"Deleted client metrics config for {each}.\n")
    theirs, mine = both("client-metrics", "--list")
    assert mine.out == theirs.out
    assert mine_is not in mine.out


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_groups_that_come_later_are_listed(both: Both, kind: str) -> None:
    theirs, mine = both(f"{kind}-groups", "--list")
    assert (mine.status, mine.out) == (theirs.status, theirs.out)
    theirs, mine = both(f"{kind}-groups", "--describe", "--group", "no-such-group")
    assert mine.status == 1
    assert f"this command only lists {kind} groups" in mine.err


def test_a_class_by_its_name(
    both: Both, bootstrap: str, make_topic: Callable[..., str], fill: Callable[..., None]
) -> None:
    topic = make_topic(2)
    fill(topic, 1)
    theirs, _ = both("get-offsets", "--topic", topic)
    given = (
        "kafka.tools.GetOffsetShell",
        "--broker-list",
        bootstrap,
        "--topic",
        topic,
        "--time",
        "-1",
        "--offsets",
        "1",
    )
    assert ours_here("run-class", *given).out == theirs.out == f"{topic}:0:0\n{topic}:1:10\n"


def test_checks_of_health(bootstrap: str) -> None:
    host, _, port = bootstrap.rpartition(":")
    assert _stand_in("cub", "kafka-ready", "-b", bootstrap, "1", "20") == 0
    assert _stand_in("cub", "kafka-ready", "2", "0", "-b", bootstrap) == 1
    assert _stand_in("nc", "-z", host, port) == 0


def _stand_in(name: str, *words: str) -> int:
    """The status of a program that the image has in place of another."""
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "image" / "stand_ins" / f"{name}.py", *words], check=False
    ).returncode
