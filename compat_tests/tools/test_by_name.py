"""Kafka's commands as the image has them: asked the same of the same broker, they print what Kafka's own print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from compat_tests.harness.kafka_tools import KafkaTools, ToolResult
from compat_tests.tools.by_name import ours, ours_here


@pytest.fixture
def both(kafka_tools: KafkaTools, bootstrap: str) -> Callable[..., tuple[ToolResult, ToolResult]]:
    """Kafka's and ours, of the same words."""

    def run(name: str, *words: str) -> tuple[ToolResult, ToolResult]:
        given = (name, "--bootstrap-server", bootstrap, *words)
        mine = ours if name == "console-consumer" else ours_here  # what writes bytes needs an output of its own
        return kafka_tools(*given), mine(*given)

    return run


def words(result: ToolResult) -> list[list[str]]:
    """Without the widths of columns, and blank lines."""
    return sorted(line.split() for line in result.out.splitlines() if line.strip())


def unquoted(result: ToolResult) -> ToolResult:
    """Kafka puts some names of a CSV in quotation marks, by their length."""
    return replace(result, out=result.out.replace('"', ""))


def test_topics(both: Callable[..., tuple[ToolResult, ToolResult]], make_topic: Callable[..., str]) -> None:
    topic = make_topic(2, **{"retention.ms": "60000"})
    for arguments in (["--describe", "--topic", topic], ["--describe", "--topics-with-overrides", "--topic", topic]):
        theirs, mine = both("topics", *arguments)
        assert (mine.status, mine.out.replace(" \n", "\n")) == (0, theirs.out.replace(" \n", "\n"))
    theirs, mine = both("topics", "--list")
    assert mine.out == theirs.out
    assert topic in mine.out.split()


def test_a_topic_made_twice_altered_and_deleted(
    both: Callable[..., tuple[ToolResult, ToolResult]], bootstrap: str, name: Callable[..., str]
) -> None:
    topic = name()
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    made = ours_here("topics", "--create", "--partitions=2", "--config", "cleanup.policy=compact", *at)
    assert (made.status, made.out) == (0, f"Created topic {topic}.\n")
    again, mine = both("topics", "--create", "--topic", topic)
    assert (again.status, mine.status) == (1, 1)
    assert f"Topic '{topic}' already exists" in mine.err
    assert f"Topic '{topic}' already exists" in again.text
    assert ours_here("topics", "--create", "--if-not-exists", *at).status == 0
    assert ours_here("topics", "--alter", "--partitions", "3", *at).status == 0
    described, mine = both("topics", "--describe", "--topic", topic)
    assert mine.out.count("Partition: ") == described.out.count("Partition: ") == 3
    assert ours_here("topics", "--delete", *at).status == 0
    gone, mine = both("topics", "--describe", "--topic", topic)
    assert (gone.status, mine.status) == (1, 1)
    assert f"Topic '{topic}' does not exist as expected" in mine.err


def test_settings(both: Callable[..., tuple[ToolResult, ToolResult]], make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    change = [
        "--alter",
        "--entity-type",
        "topics",
        "--entity-name",
        topic,
        "--add-config",
        "cleanup.policy=[compact,delete]",
    ]
    theirs, mine = both("configs", *change)
    assert (mine.status, mine.out) == (0, theirs.out)
    theirs, mine = both("configs", "--describe", "--entity-type", "topics", "--entity-name", topic)
    assert mine.out == theirs.out
    assert "cleanup.policy=compact,delete" in mine.out
    theirs, mine = both("configs", "--describe", "--topic", topic, "--all")
    assert words(mine) == words(theirs)
    theirs, mine = both("configs", "--alter", "--topic", topic, "--delete-config", "cleanup.policy")
    assert (mine.status, mine.out) == (0, theirs.out)


def test_a_group(
    both: Callable[..., tuple[ToolResult, ToolResult]],
    bootstrap: str,
    make_topic: Callable[..., str],
    name: Callable[..., str],
) -> None:
    topic, group = make_topic(2), name()
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    sent = ours(
        "console-producer", *at, "--property", "parse.key=true", "--property", "key.separator=:", stdin="a:1\nb:2\n"
    )
    assert sent.status == 0, sent.err
    read = ours(
        "console-consumer",
        *at,
        "--group",
        group,
        "--from-beginning",
        "--max-messages",
        "2",
        "--property",
        "print.key=true",
    )
    assert sorted(read.out.splitlines()) == ["a\t1", "b\t2"]
    assert "Processed a total of 2 messages" in read.err
    theirs, mine = both("consumer-groups", "--describe", "--group", group)
    assert words(mine) == words(theirs)
    moved = ("--group", group, "--reset-offsets", "--to-earliest", "--all-topics", "--dry-run")
    theirs, mine = both("consumer-groups", *moved)
    assert words(mine) == words(theirs)
    assert group in ours_here("consumer-groups", "--bootstrap-server", bootstrap, "--list").out.split()
    deleted = ours_here("consumer-groups", "--bootstrap-server", bootstrap, "--delete", "--group", group)
    assert (deleted.status, deleted.out) == (0, f"Deletion of requested consumer groups ('{group}') was successful.\n")
    assert ours_here("consumer-groups", "--bootstrap-server", bootstrap, "--describe", "--group", group).status == 1


def test_what_is_read_is_printed_as_by_kafkas(
    both: Callable[..., tuple[ToolResult, ToolResult]], make_topic: Callable[..., str], fill: Callable[..., None]
) -> None:
    topic = make_topic()
    fill(topic)
    shown = [
        word
        for what in ("timestamp", "partition", "offset", "headers", "key")
        for word in ("--formatter-property", f"print.{what}=true")
    ]
    theirs, mine = both("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "10", *shown)
    assert mine.out == theirs.out
    assert len(mine.out.splitlines()) == 10
    theirs, mine = both(
        "console-consumer", "--topic", topic, "--partition", "0", "--offset", "7", "--max-messages", "3"
    )
    assert mine.out == theirs.out == "value 7\nvalue 8\nvalue 9\n"
    theirs, mine = both("get-offsets", "--topic", topic)
    assert mine.out == theirs.out == f"{topic}:0:10\n"


def test_what_the_broker_is(
    both: Callable[..., tuple[ToolResult, ToolResult]], kafka_tools: KafkaTools, bootstrap: str
) -> None:
    theirs, mine = both("broker-api-versions")
    assert mine.out.split(" -> ")[0] == theirs.out.split(" -> ")[0]
    common = set(mine.out.splitlines()) & set(theirs.out.splitlines())
    assert len(common) > 30, mine.out
    asked = ("cluster", "cluster-id", "--bootstrap-server", bootstrap)
    assert ours_here(*asked).out == kafka_tools(*asked).out


def test_what_is_not_known_is_refused_with_what_is(bootstrap: str) -> None:
    refused = ours("topics", "--bootstrap-server", bootstrap, "--list", "--colour")
    assert refused.status == 1
    assert "--colour" in refused.err
    assert "--exclude-internal" in refused.err
    assert ours_here("topics", "--list").err == "kafka-topics: --bootstrap-server HOST:PORT is missing.\n"


def test_groups_by_what_they_are(
    both: Callable[..., tuple[ToolResult, ToolResult]],
    make_topic: Callable[..., str],
    fill: Callable[..., None],
    name: Callable[..., str],
) -> None:
    topic, group = make_topic(), name()
    fill(topic)
    both("console-consumer", "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "1")
    for asked in ([], ["--consumer"], ["--share"], ["--group-type", "classic"], ["--protocol", "none"]):
        theirs, mine = both("groups", "--list", *asked)
        assert (mine.status, words(mine)) == (0, words(theirs))
    for asked in (
        ["--state"],
        ["--state", "empty,stable"],
        ["--type"],
        ["--type", "classic", "--state"],
        ["--state", "dead"],
    ):
        theirs, mine = both("consumer-groups", "--list", *asked)
        assert (mine.status, words(mine)) == (0, words(theirs))
    theirs, mine = both("consumer-groups", "--list", "--state", "lazy")
    assert (theirs.status, mine.status) == (1, 1)
    assert "Invalid state list 'lazy'. Valid states are: " in mine.err


def test_where_groups_go_on(
    both: Callable[..., tuple[ToolResult, ToolResult]],
    make_topic: Callable[..., str],
    fill: Callable[..., None],
    name: Callable[..., str],
    tmp_path: Path,
) -> None:
    topic, group = make_topic(2), name()
    fill(topic, 0, 1)
    plan = tmp_path / "plan.csv"
    of_group = ("consumer-groups", "--group", group)
    plan.write_text(f"{topic},0,4\n{topic},1,99\n")
    for where in (
        ("--by-duration", "PT1H", "--topic", topic),
        ("--by-duration", "P10000DT1H", "--topic", f"{topic}:1"),
        ("--from-file", str(plan)),
        ("--to-offset", "3", "--topic", topic, "--export"),
    ):
        theirs, mine = both(*of_group, "--reset-offsets", *where, "--dry-run")
        assert (mine.status, words(mine)) == (0, [line for line in words(unquoted(theirs)) if line[0] != "Warn:"])
    assert both(*of_group, "--reset-offsets", "--from-file", str(plan), "--execute")[1].status == 0
    theirs, mine = both(*of_group, "--describe")
    assert words(mine) == words(theirs)
    assert (
        both(*of_group, "--reset-offsets", "--to-current", "--all-topics", "--export")[1].out
        == f"{topic},0,4\n{topic},1,10\n"
    )
    theirs, mine = both(*of_group, "--delete-offsets", "--topic", f"{topic}:0")
    assert (mine.status, words(mine)) == (0, words(theirs))
    assert both(*of_group, "--reset-offsets", "--to-current", "--all-topics", "--export")[1].out == f"{topic},1,10\n"
    unknown = both(*of_group, "--delete-offsets", "--topic", f"{topic}-not-there")[1]
    assert (unknown.status, "Error: This server does not host this topic-partition." in unknown.out) == (1, True)


def test_partitions_by_their_state(
    both: Callable[..., tuple[ToolResult, ToolResult]], make_topic: Callable[..., str], fill: Callable[..., None]
) -> None:
    topic = make_topic(3)
    fill(topic, 0, 2)
    for which in ("at-min-isr", "under-min-isr", "unavailable", "under-replicated"):
        theirs, mine = both("topics", "--describe", "--topic", topic, f"--{which}-partitions")
        assert (mine.status, words(mine)) == (0, words(theirs))
    for chosen in (f"{topic}:2", f"{topic}:0-2", f"{topic}:-2", f"{topic}:1-", topic, f"{topic[:-1]}.:0,{topic}:2"):
        theirs, mine = both("get-offsets", "--topic-partitions", chosen)
        assert (mine.status, mine.out) == (0, theirs.out)
