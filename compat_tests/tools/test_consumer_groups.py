"""kafka-consumer-groups: listing, describing, deleting, and every form of reset-offsets.

Left out: nothing of what the tool does with classic groups.
"""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as At

from compat_tests.harness.awaiting import eventually
from compat_tests.tools.conftest import columns, table


@pytest.fixture
def group(make_topic, fill, name, bootstrap):
    """A group at offset 5 of both partitions of its topic, as (group, topic)."""
    topic, group = make_topic(partitions=2), name("group")
    fill(topic, 0, 1)
    commit(bootstrap, group, topic, 5, 5)
    return group, topic


def commit(bootstrap, group, topic, *offsets):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(
        offsets=[At(topic, partition, offset) for partition, offset in enumerate(offsets)], asynchronous=False
    )
    consumer.close()


@pytest.fixture
def member(group, bootstrap):
    """A live member of the group that holds both partitions."""
    settings = {
        "group.id": group[0],
        "client.id": "reader",
        "group.instance.id": "machine-1",
        "enable.auto.commit": False,
    }
    consumer = Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "error", **settings})
    consumer.subscribe([group[1]])
    eventually(lambda: (consumer.poll(0.05), len(consumer.assignment()))[1], lambda assigned: assigned == 2, pause_s=0)
    yield consumer
    consumer.close()


def offsets(tool, group):
    rows = table(tool("consumer-groups", "--describe", "--group", group))
    return {int(row["PARTITION"]): int(row["CURRENT-OFFSET"]) for row in rows}


def test_list_and_states(tool, group):
    assert group[0] in tool("consumer-groups", "--list").lines
    assert (group[0], "Empty") in columns(table(tool("consumer-groups", "--list", "--state")), "GROUP", "STATE")
    assert group[0] not in tool("consumer-groups", "--list", "--state", "Stable").out
    rows = table(tool("consumer-groups", "--list", "--type", "classic"))
    assert (group[0], "Classic") in columns(rows, "GROUP", "TYPE")
    rows = table(tool("groups", "--list"))
    assert group[0] in [row["GROUP"] for row in rows]


def test_describe_offsets(tool, group):
    rows = table(tool("consumer-groups", "--describe", "--group", group[0]))
    seen = columns(rows, "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID")
    assert seen == [(group[1], "0", "5", "10", "5", "-"), (group[1], "1", "5", "10", "5", "-")]


def test_describe_members_and_state(tool, group, member):
    rows = table(tool("consumer-groups", "--describe", "--group", group[0], "--members", "--verbose"))
    assert columns(rows, "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS") == [
        ("machine-1", "/127.0.0.1", "reader", "2")
    ]
    assert f"{group[1]}:0,1" in str(rows).replace(f"{group[1]}(0,1)", f"{group[1]}:0,1")
    state = tool("consumer-groups", "--describe", "--group", group[0], "--state").out
    assert "Stable" in state
    assert "range" in state
    rows = table(tool("consumer-groups", "--describe", "--group", group[0]))
    assert columns(rows, "PARTITION", "HOST", "CLIENT-ID") == [
        ("0", "/127.0.0.1", "reader"),
        ("1", "/127.0.0.1", "reader"),
    ]


def test_describe_all_groups_and_an_unknown_one(tool, group):
    assert group[0] in tool("consumer-groups", "--describe", "--all-groups").out
    unknown = tool("consumer-groups", "--describe", "--group", "no-such-group")
    assert "Group no-such-group not found." in unknown.text


def test_delete_group(tool, group):
    assert "successful" in tool("consumer-groups", "--delete", "--group", group[0]).out
    assert group[0] not in tool("consumer-groups", "--list").lines
    assert "GroupIdNotFound" in tool("consumer-groups", "--delete", "--group", group[0]).text


def test_a_group_in_use_is_neither_deleted_nor_reset(tool, group, member):
    assert "GroupNotEmptyException" in tool("consumer-groups", "--delete", "--group", group[0]).text
    reset = ("--reset-offsets", "--group", group[0], "--topic", group[1], "--to-earliest", "--execute")
    assert "inactive, but the current state is Stable" in tool("consumer-groups", *reset).text
    refused = tool("consumer-groups", "--delete-offsets", "--group", group[0], "--topic", group[1]).text
    assert "Error" in refused


def test_delete_offsets(tool, group):
    tool("consumer-groups", "--delete-offsets", "--group", group[0], "--topic", f"{group[1]}:0")
    assert offsets(tool, group[0]) == {1: 5}


RESETS = {
    "to-earliest": (["--to-earliest"], {0: 0, 1: 0}),
    "to-latest": (["--to-latest"], {0: 10, 1: 10}),
    "to-current": (["--to-current"], {0: 5, 1: 5}),
    "to-offset": (["--to-offset", "7"], {0: 7, 1: 7}),
    "to-offset beyond the end": (["--to-offset", "70"], {0: 10, 1: 10}),
    "shift forward": (["--shift-by", "3"], {0: 8, 1: 8}),
    "shift back": (["--shift-by", "-2"], {0: 3, 1: 3}),
    "shift below the start": (["--shift-by", "-20"], {0: 0, 1: 0}),
    "to-datetime": (["--to-datetime", "2023-11-14T22:13:23.500"], {0: 4, 1: 4}),
    "to-datetime with zone": (["--to-datetime", "2023-11-14T23:13:21.000+01:00"], {0: 1, 1: 1}),
    "to-datetime after the last": (["--to-datetime", "2030-01-01T00:00:00.000"], {0: 10, 1: 10}),
    "by-duration of half a century": (["--by-duration", "P18000D"], {0: 0, 1: 0}),
    "by-duration of a second": (["--by-duration", "PT1S"], {0: 10, 1: 10}),
}


@pytest.mark.parametrize("form", RESETS)
def test_reset(tool, group, form):
    arguments, expected = RESETS[form]
    reset = ("--reset-offsets", "--group", group[0], "--topic", group[1], *arguments)
    dry = table(tool("consumer-groups", *reset, "--dry-run"))
    assert {int(row["PARTITION"]): int(row["NEW-OFFSET"]) for row in dry} == expected
    assert offsets(tool, group[0]) == {0: 5, 1: 5}, "a dry run changes nothing"
    tool("consumer-groups", *reset, "--execute")
    assert offsets(tool, group[0]) == expected


def test_reset_of_one_partition(tool, group):
    reset = ("--reset-offsets", "--group", group[0], "--topic", f"{group[1]}:1", "--to-earliest", "--execute")
    tool("consumer-groups", *reset)
    assert offsets(tool, group[0]) == {0: 5, 1: 0}


def test_reset_of_all_topics(tool, group, make_topic, fill, bootstrap):
    other = make_topic()
    fill(other)
    commit(bootstrap, group[0], other, 6)
    tool("consumer-groups", "--reset-offsets", "--group", group[0], "--all-topics", "--to-latest", "--execute")
    rows = table(tool("consumer-groups", "--describe", "--group", group[0]))
    assert {(row["TOPIC"], row["CURRENT-OFFSET"]) for row in rows} == {(group[1], "10"), (other, "10")}


def test_export_and_from_file(tool, group, tmp_path):
    export = ("--reset-offsets", "--group", group[0], "--topic", group[1], "--to-offset", "2", "--export", "--dry-run")
    plan = [line for line in tool("consumer-groups", *export).lines if line.startswith('"') or "," in line]
    assert sorted(line.replace('"', "") for line in plan) == [f"{group[1]},0,2", f"{group[1]},1,2"]
    file = tmp_path / "plan.csv"
    file.write_text("\n".join(plan) + "\n")
    tool("consumer-groups", "--reset-offsets", "--group", group[0], "--from-file", str(file), "--execute")
    assert offsets(tool, group[0]) == {0: 2, 1: 2}


def test_reset_of_a_group_that_never_was(tool, make_topic, fill, name):
    topic, group = make_topic(), name("group")
    fill(topic)
    tool("consumer-groups", "--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "4", "--execute")
    assert offsets(tool, group) == {0: 4}


def test_by_duration_finds_what_is_recent(tool, make_topic, fill, name):
    topic, group = make_topic(), name("group")
    fill(topic)
    fill(topic, start_ms=int(time.time() * 1000))
    tool(
        "consumer-groups", "--reset-offsets", "--group", group, "--topic", topic, "--by-duration", "PT10M", "--execute"
    )
    assert offsets(tool, group) == {0: 10}
