"""``pykbroker groups``, and membership through ``consume --group``. Nothing is skipped."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from compat_tests.cli.conftest import Result
from compat_tests.harness.awaiting import eventually
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.streams_groups import beats, commits, enters, reads
from compat_tests.oracle.requests import Ask
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

Run = Callable[..., Result]
START = 1_769_868_000_000  # 2026-01-31T14:00:00Z


@pytest.fixture
def group(name: Callable[..., str]) -> str:
    return name("group")


@pytest.fixture
def numbered(run: Run, topic: str) -> str:
    """Ten records in partition 0, a second apart; the other partitions are empty."""
    lines = [
        json.dumps({"partition": 0, "timestamp": START + number * 1000, "value": str(number)}) for number in range(10)
    ]
    for some in (lines[:3], lines[3:]):
        run("produce", topic, "--json", stdin="\n".join(some).encode())
    return topic


class Member:
    """A process that follows a topic as a member of a group."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        command = [sys.executable, "-m", "pykbroker", "consume", topic, "--group", group]
        environment = {**os.environ, "PYKBROKER_BOOTSTRAP": bootstrap}
        environment.pop("PYTHONUNBUFFERED", None)  # a record is shown with others, as where people use it
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, bufsize=0)

    def read_line(self) -> str:
        """The next line it prints; fails when none comes."""
        stdout = self.process.stdout
        assert stdout is not None
        assert select.select([stdout], [], [], 60)[0], "nothing was printed"
        line = stdout.readline()
        assert line, "the command ended"
        return line.decode().rstrip("\n")


@contextmanager
def member(bootstrap: str, topic: str, group: str) -> Iterator[Member]:
    """A member, stopped with Ctrl-C in the end unless it was before."""
    started = Member(bootstrap, topic, group)
    with started.process as process:
        try:
            yield started
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
    assert process.returncode == 0


def _wait_for_members(run: Run, group: str, count: int) -> list[dict[str, Any]]:
    """The members, once there are ``count`` and each knows its partitions."""
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline:
        result = run("groups", "describe", group, "--json")  # the group is not there before its first member
        described = json.loads(result.out)[0] if result.status == 0 else {"state": result.err}
        if described["state"] == "Stable" and len(described["members"]) == count:
            return list(described["members"])
    raise AssertionError(f"the group did not get {count} members: {described}")


def _wait_for(run: Run, group: str, condition: Callable[[dict[str, Any]], bool]) -> None:
    """Until the group is as it should be."""
    deadline = time.monotonic() + 150
    while not condition(described := run("groups", "describe", group, "--json").json[0]):
        assert time.monotonic() < deadline, described


def _offsets(run: Run, group: str) -> dict[int, tuple[int | None, int | None]]:
    (described,) = run("groups", "describe", group, "--json").json
    return {row["partition"]: (row["committed"], row["lag"]) for row in described["offsets"]}


def test_a_group_goes_on_where_it_was(run: Run, numbered: str, group: str) -> None:
    assert run("consume", numbered, "-g", group, "-n", "4").lines == ["0", "1", "2", "3"]
    assert _offsets(run, group) == {0: (4, 6), 1: (0, 0), 2: (0, 0)}
    assert run("consume", numbered, "-g", group, "--exit").lines == ["4", "5", "6", "7", "8", "9"]
    assert _offsets(run, group)[0] == (10, 0)
    assert run("consume", numbered, "-g", group, "--exit").lines == []


def test_list(run: Run, numbered: str, group: str) -> None:
    run("consume", numbered, "-g", group, "--exit")
    assert f"{group}\tClassic\tEmpty\tconsumer" in run("groups", "list").lines
    listed = {row["group"]: row for row in run("groups", "list", "--state", "empty", "--json").json}
    assert listed[group]["state"] == "Empty"
    (described,) = run("groups", "describe", group, "--json").json
    assert listed[group]["type"] == described["type"] == "Classic"
    assert group not in run("groups", "list", "--state", "Stable").out


def test_describe_shows_members(run: Run, bootstrap: str, topic: str, group: str) -> None:
    run("produce", topic, "-p", "0", stdin=b"start")
    with member(bootstrap, topic, group) as one:
        assert one.read_line() == "start"
        (only,) = _wait_for_members(run, group, 1)
        assert only["assigned"] == [f"{topic}-{number}" for number in range(3)]
        (described,) = run("groups", "describe", group, "--json").json
        assert {row["member"] for row in described["offsets"]} == {only["member"]}
        text = run("groups", "describe", group).out
        assert f"{group}  Stable, 1 member," in text
        assert only["member"] in text
    (described,) = run("groups", "describe", group, "--json").json
    assert (described["state"], described["members"]) == ("Empty", [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_member_that_is_stopped_commits_and_leaves(
    run: Run, bootstrap: str, numbered: str, group: str, number: int
) -> None:
    with member(bootstrap, numbered, group) as one:
        for _ in range(10):
            one.read_line()
        one.process.send_signal(number)
        assert one.process.wait() == 0
        assert _offsets(run, group)[0] == (10, 0)
        (described,) = run("groups", "describe", group, "--json").json
        assert (described["state"], described["members"]) == ("Empty", [])


def test_a_member_that_is_stopped_while_it_joins_leaves(run: Run, bootstrap: str, numbered: str, group: str) -> None:
    with member(bootstrap, numbered, group) as one:
        one.read_line()
        (first,) = _wait_for_members(run, group, 1)
        one.process.send_signal(signal.SIGSTOP)  # so that the second one's join has to wait
        try:
            with member(bootstrap, numbered, group) as two:
                _wait_for(run, group, lambda described: described["state"] == "PreparingRebalance")
                two.process.send_signal(signal.SIGTERM)
                assert two.process.wait() == 0
            (described,) = run("groups", "describe", group, "--json").json
            assert [each["member"] for each in described["members"]] == [first["member"]]
        finally:
            one.process.send_signal(signal.SIGCONT)


def test_a_reader_that_has_seen_enough_leaves_the_group(run: Run, bootstrap: str, topic: str, group: str) -> None:
    run("produce", topic, stdin=b"line\n" * 50_000)
    one = Member(bootstrap, topic, group)
    with one.process as process:
        one.read_line()
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 141
        (described,) = run("groups", "describe", group, "--json").json
        assert (described["state"], described["members"]) == ("Empty", [])
    # what was not seen is not committed
    assert run("consume", topic, "-g", group, "--exit").lines


def test_lag_of_what_was_never_committed_is_unknown(run: Run, bootstrap: str, topic: str, group: str) -> None:
    with member(bootstrap, topic, group):
        _wait_for_members(run, group, 1)
        text = run("groups", "describe", group).out
        assert f"{group}  Stable, 1 member, lag unknown as it has committed nothing, coordinator" in text
        (described,) = run("groups", "describe", group, "--json").json
        assert {row["lag"] for row in described["offsets"]} == {None}


def test_committed_offsets_win_and_it_is_said(run: Run, numbered: str, group: str) -> None:
    assert run("consume", numbered, "-g", group, "--beginning", "-n", "4").err == ""
    result = run("consume", numbered, "-g", group, "--beginning", "-n", "1")
    assert result.lines == ["4"]
    assert f"Group {group} goes on where it is, in {numbered}-0 (4), {numbered}-1 (0), {numbered}-2 (0);" in result.err
    assert "--beginning counts only where it has committed nothing. `pykbroker groups reset` moves it." in result.err
    assert run("consume", numbered, "-g", group, "-n", "1").err == ""


def test_members_share_a_topic(run: Run, bootstrap: str, topic: str, group: str) -> None:
    with member(bootstrap, topic, group) as one, member(bootstrap, topic, group) as two:
        assigned = [m["assigned"] for m in _wait_for_members(run, group, 2)]
        assert sorted(map(len, assigned)) == [1, 2]
        for number in range(3):
            run("produce", topic, "-p", str(number), stdin=f"{topic}-{number}".encode())
        ready: list[list[str]] = [[], []]
        streams = {one.process.stdout: (one, ready[0]), two.process.stdout: (two, ready[1])}
        while sum(map(len, ready)) < 3:
            for stream in select.select(list(streams), [], [], 60)[0]:
                who, lines = streams[stream]
                lines.append(who.read_line())
        assert sorted(map(sorted, ready)) == sorted(assigned)


def test_a_group_that_does_not_exist(run: Run, group: str) -> None:
    for command in (("describe", group), ("delete", group, "-y")):
        result = run("groups", *command)
        assert result.status == 1
        assert f"Group {group}: " in result.err
        assert "(GROUP_ID_NOT_FOUND). `pykbroker groups list`" in result.err


def test_delete(run: Run, bootstrap: str, numbered: str, group: str) -> None:
    with member(bootstrap, numbered, group) as consumer:
        consumer.read_line()
        result = run("groups", "delete", group, "--yes")
        assert result.status == 1
        assert "(NON_EMPTY_GROUP). Stop its consumers first" in result.err
    assert run("groups", "delete", group, "--yes").lines == [f"{group} deleted"]
    assert group not in run("groups", "list").out


# Reset


@pytest.mark.parametrize(
    ("form", "after"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 10),
        (("--to-current",), 4),
        (("--to-offset", "7"), 7),
        (("--to-offset", "700"), 10),
        (("--shift-by", "3"), 7),
        (("--shift-by", "-2"), 2),
        (("--shift-by", "-20"), 0),
        (("--shift-by", "20"), 10),
        (("--to-datetime", "2026-01-31T14:00:05.500Z"), 6),
        (("--to-datetime", "2036-01-31"), 10),
        (("--by-duration", "1s"), 10),
        (("--by-duration", "P10000D"), 0),
    ],
)
def test_every_form(run: Run, numbered: str, group: str, form: tuple[str, ...], after: int) -> None:
    run("consume", numbered, "-g", group, "-n", "4")
    arguments = ("groups", "reset", group, "--topic", f"{numbered}:0", *form)
    planned = run(*arguments)
    assert planned.lines == ["TOPIC\tPARTITION\tBEFORE\tAFTER", f"{numbered}\t0\t4\t{after}"]
    assert "A dry run: nothing was changed." in planned.err
    assert _offsets(run, group)[0][0] == 4
    done = run(*arguments, "--execute", "--json").json
    assert done["executed"] is True
    assert done["offsets"] == [{"topic": numbered, "partition": 0, "before": 4, "after": after}]
    assert _offsets(run, group)[0][0] == after


def test_a_new_group_can_be_given_offsets(run: Run, numbered: str, group: str) -> None:
    assert run("groups", "reset", group, "-t", numbered, "--to-offset", "8", "--execute").status == 0
    assert run("consume", numbered, "-g", group, "-e").lines == ["8", "9"]


def test_all_topics(run: Run, numbered: str, group: str) -> None:
    run("consume", numbered, "-g", group, "-e")
    done = run("groups", "reset", group, "--all-topics", "--to-earliest", "--execute", "--json").json
    assert {row["after"] for row in done["offsets"]} == {0}
    assert run("consume", numbered, "-g", group, "-n", "1").lines == ["0"]


def test_an_offset_that_is_not_there_cannot_be_shifted(run: Run, numbered: str, group: str) -> None:
    result = run("groups", "reset", group, "-t", numbered, "--shift-by", "1")
    assert result.status == 1
    assert f"no offset of {numbered}-0 to shift" in result.err


def test_members_are_in_the_way(run: Run, bootstrap: str, numbered: str, group: str) -> None:
    with member(bootstrap, numbered, group) as consumer:
        consumer.read_line()
        arguments = ("groups", "reset", group, "-t", numbered, "--to-earliest")
        assert "its members must be stopped before --execute" in run(*arguments).err
        result = run(*arguments, "--execute")
        assert result.status == 1
        assert "offsets can be reset only while it has no members" in result.err


@pytest.mark.parametrize(
    ("topic_option", "said"), [(":9", "There is no partition"), (":x", "is not TOPIC or TOPIC:0,1,2")]
)
def test_partitions_that_are_not_there(run: Run, topic: str, group: str, topic_option: str, said: str) -> None:
    result = run("groups", "reset", group, "-t", topic + topic_option, "--to-latest")
    assert result.status == 2
    assert said in result.err


def test_a_group_whose_topic_was_deleted(run: Run, numbered: str, group: str) -> None:
    run("consume", numbered, "-g", group, "-e")
    run("topics", "delete", numbered, "--yes")
    result = run("groups", "describe", group, "--json")
    assert result.status == 0
    for row in json.loads(result.out)[0]["offsets"]:
        assert row["end"] is None


def test_records_that_are_gone_are_skipped_with_a_word(run: Run, bootstrap: str, numbered: str, group: str) -> None:
    run("consume", numbered, "-g", group, "-n", "2")
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(numbered, [DeleteRecordsPartition(0, 6)])], timeout_ms=30_000
    )
    with Client(parse_bootstrap(bootstrap), timeout_s=30) as client:
        answer = client.leader(numbered, 0).call(request, DeleteRecordsResponse)
    assert answer.topics[0].partitions[0].error_code == 0
    result = run("consume", numbered, "-g", group, "-e")
    assert result.lines == ["6", "7", "8", "9"]
    assert f"{numbered}-0 has not the records wanted any more; going on at offset 6." in result.err


def test_share_groups(run: Run, bootstrap: str, numbered: str, group: str) -> None:
    def beat(epoch: int) -> None:
        request = ShareGroupHeartbeatRequest(
            group, str(uuid.UUID(int=7)), epoch, subscribed_topic_names=[numbered] if epoch == 0 else None
        )
        with Client(parse_bootstrap(bootstrap), timeout_s=30) as client:
            answer = client.coordinator(group).call(request, ShareGroupHeartbeatResponse)
        assert answer.error_code == 0, answer.error_message

    beat(0)
    wrong = run("groups", "list", "--type", "shares")
    assert (wrong.status, "--type takes classic, consumer, share or streams." in wrong.err) == (2, True), wrong.err
    listed = run("groups", "list", "--type", "share", "--json").json
    assert [each["state"] for each in listed if each["group"] == group] == ["Stable"]
    assert group not in {each["group"] for each in run("groups", "list", "--type", "consumer", "--json").json}
    (found,) = run("groups", "describe", group, "--json").json
    assert (found["type"], found["state"], len(found["members"])) == ("Share", "Stable", 1)
    change = ("groups", "reset", group, "--topic", f"{numbered}:0", "--to-offset", "3", "--execute")
    assert "can be reset only while it has no members" in run(*change).err
    beat(-1)
    assert run(*change, "--json").json["offsets"] == [{"topic": numbered, "partition": 0, "before": None, "after": 3}]
    row = {"topic": numbered, "partition": 0, "start": 3, "end": 10, "lag": 7, "member": None}

    def offsets() -> list[dict[str, Any]]:
        (again,) = run("groups", "describe", group, "--json").json
        return [each for each in again["offsets"] if each["partition"] == 0]

    eventually(offsets, lambda rows: rows == [row])
    shown = run("groups", "describe", group).lines
    assert f"{group}  Empty, 0 members, lag 7" in shown[0]
    assert shown[1].split("\t") == ["TOPIC", "PARTITION", "START", "END", "LAG", "MEMBER"]
    assert run("groups", "delete", group, "--yes").lines == [f"{group} deleted"]
    assert "GROUP_ID_NOT_FOUND" in run("groups", "describe", group).err


def test_a_streams_group_is_described_reset_and_deleted(run: Run, bootstrap: str, numbered: str, group: str) -> None:
    ask = Ask(bootstrap, 1, "cli")
    ask.wait_for_coordinators()
    configure(ask, group, "streams.initial.rebalance.delay.ms", "0")
    epoch = ask.quietly(enters(group, "member", reads(numbered)), 1).member_epoch
    assert ask.quietly(commits(group, "member", epoch, numbered), 9).topics[0].partitions[0].error_code == 0
    (described,) = json.loads(run("groups", "describe", group, "--json").out)
    assert (described["type"], described["state"], described["assignor"]) == ("Streams", "Stable", "sticky")
    (member,) = described["members"]
    assert f"{numbered}-0" in member["assigned"]
    assert [row["lag"] for row in described["offsets"] if row["committed"] is not None] == [5]
    ask.quietly(beats(group, "member", -1), 1)
    ask.close()
    run("groups", "reset", group, "--topic", numbered, "--to-earliest", "--execute")
    (described,) = json.loads(run("groups", "describe", group, "--json").out)
    assert described["offsets"][0]["committed"] == 0
    run("groups", "delete", group, "--yes")
