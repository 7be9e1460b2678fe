"""Offsets, delete-records, replicas, reassignments and perf against the broker under test. Nothing is skipped."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from compat_tests.cli.conftest import Result
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.client.replica_state import read_replicas
from pykbroker.wire.errors import KafkaError

Run = Callable[..., Result]
START = 1_769_868_000_000  # 2026-01-31T14:00:00Z


@pytest.fixture
def numbered(run: Run, topic: str) -> str:
    """The numbers 0 to 9 in partition 1, a second apart from 2026-01-31T14:00:00Z on; 6 has the latest time."""
    lines = [
        json.dumps({"partition": 1, "timestamp": START + (99 if n == 6 else n) * 1000, "value": str(n)})
        for n in range(10)
    ]
    assert run("produce", topic, "--json", stdin="\n".join(lines).encode()).status == 0
    return topic


def test_where_partitions_begin_and_end(run: Run, numbered: str) -> None:
    assert run("offsets", numbered).lines == [
        "TOPIC\tPARTITION\tSTART\tEND\tOFFSETS",
        f"{numbered}\t0\t0\t0\t0",
        f"{numbered}\t1\t0\t10\t10",
        f"{numbered}\t2\t0\t0\t0",
    ]
    assert run("offsets", numbered, "-p", "1", "--json").json == [
        {"topic": numbered, "partition": 1, "start": 0, "end": 10, "offsets": 10}
    ]


@pytest.mark.parametrize(
    ("at", "offset", "timestamp"),
    [
        ("earliest", 0, None),
        ("latest", 10, None),
        ("max-timestamp", 6, START + 99_000),
        ("local", 0, None),
        ("tiered", None, None),
        ("2026-01-31T14:00:03.5Z", 4, START + 4000),
        (f"@{START}", 0, START),
        ("1ms", None, None),
    ],
)
def test_an_offset_and_its_time(run: Run, numbered: str, at: str, offset: int | None, timestamp: int | None) -> None:
    empty, found, _ = run("offsets", numbered, "--at", at, "--json").json
    assert (found["offset"], found["timestamp"]) == (offset, timestamp)
    assert empty["timestamp"] is None


def test_offsets_of_what_is_not_there(run: Run, topic: str, name: Callable[..., str]) -> None:
    assert run("offsets", topic, "-p", "7").status == 2
    assert "(UNKNOWN_TOPIC_OR_PARTITION)" in run("offsets", name("missing")).err


def test_records_are_deleted_from_the_beginning(run: Run, numbered: str) -> None:
    planned = run("records", "delete", numbered, "--before", "1:3", "--dry-run", "--json").json
    assert planned == {
        "executed": False,
        "partitions": [{"topic": numbered, "partition": 1, "before": 0, "after": 3}],
    }
    assert "".join(run("consume", numbered, "-e").lines) == "0123456789"
    done = run("records", "delete", numbered, "--before", "1:3", "-y")
    assert done.lines == ["TOPIC\tPARTITION\tBEGAN AT\tBEGINS AT", f"{numbered}\t1\t0\t3"]
    assert "".join(run("consume", numbered, "-e").lines) == "3456789"
    assert run("records", "delete", numbered, "--before-time", "2026-01-31T14:00:04.5Z", "-y").status == 0
    assert "".join(run("consume", numbered, "-e").lines) == "56789"
    assert run("records", "delete", numbered, "--before", "end-2", "-y").status == 0
    assert "".join(run("consume", numbered, "-e").lines) == "89"
    nothing = run("records", "delete", numbered, "--before", "beginning", "-y")
    assert (nothing.status, nothing.out) == (0, "")
    assert "nothing to delete" in nothing.err


def test_records_that_are_not_there_are_no_reason_to_delete(run: Run, numbered: str) -> None:
    refused = run("records", "delete", numbered, "--before", "11", "-y")
    assert refused.status == 1
    assert f"{numbered}-0 ends at offset 0: nothing was deleted, 11 lies after it." in refused.err
    assert run("records", "delete", numbered, "--before", "7:1", "-y").status == 2
    assert "".join(run("consume", numbered, "-e").lines) == "0123456789"


# Consume, from here to there


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("-o", "-3", "--exit"), "789"),
        (("-o", "end-4", "--until", "8"), "67"),
        (("-o", "beginning+8", "--until", "end"), "89"),
        (("-o", "0:5,1:9", "--until", "end"), "9"),
        (("-o", "end,1:-2", "--until", "end"), "89"),
        (("--until", "4"), "0123"),
        (("--until", "1000"), "0123456789"),
        (("--until", "2026-01-31T14:00:02.5Z"), "012"),
        (("--until", "1ms"), "0123456789"),
        (("-e", "--filter", "value=~[3-6]"), "3456"),
        (("-e", "--filter", "value=~[3-6]", "--filter", "value!=4"), "356"),
        (("-e", "--filter", "value!~[3-6]", "-n", "4"), "0127"),
        (("-e", "--filter", "key=k"), ""),
        (("-e", "--last", "3", "--filter", "value!=9"), "78"),
    ],
)
def test_from_here_to_there(run: Run, numbered: str, options: tuple[str, ...], expected: str) -> None:
    assert "".join(run("consume", numbered, *options).lines) == expected


def test_a_partition_that_is_not_there(run: Run, numbered: str) -> None:
    result = run("consume", numbered, "-e", "-o", "7:1")
    assert result.status == 2
    assert "There is no partition 7" in result.err


def test_a_group_passes_over_what_is_filtered(run: Run, numbered: str, name: Callable[..., str]) -> None:
    group = name("group")
    assert run("consume", numbered, "-g", group, "--until", "5", "--filter", "value!~[1-9]").lines == ["0"]
    assert run("consume", numbered, "-g", group, "-e").lines == list("56789")


def test_filters_on_headers(run: Run, topic: str) -> None:
    run("produce", topic, "-p", "0", "-H", "source=web", "--key", "a", stdin=b"1\n2")
    run("produce", topic, "-p", "0", "-H", "source=app", "--key", "b", stdin=b"3")
    assert run("consume", topic, "-e", "--filter", "header.source=web").lines == ["1", "2"]
    assert run("consume", topic, "-e", "--filter", "header.source=~^a", "--filter", "key=b").lines == ["3"]


def test_topics_by_expression(run: Run, name: Callable[..., str]) -> None:
    one, two = name("logs-a"), name("logs-b")
    run("topics", "create", one, two)
    run("produce", one, stdin=b"a")
    run("produce", two, stdin=b"b")
    expression = one.replace("logs-a", "logs-[ab]")[: -len(one.rpartition("-")[2])] + ".*"
    assert sorted(run("consume", "--topic-regex", expression, "-e").lines) == ["a", "b"]
    assert [row["name"] for row in run("topics", "list", expression, "--json").json] == sorted([one, two])
    assert run("topics", "list", "logs").out == ""
    missing = run("consume", "--topic-regex", "no-such-.*", "-e")
    assert missing.status == 1
    assert "No topic matches no-such-.*" in missing.err


# Bytes


@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_bytes_go_out_and_in_as_text(run: Run, topic: str, name: Callable[..., str], encoding: str) -> None:
    copy = name("copy")
    run("topics", "create", copy, "-p", "3")
    lines = [
        {"partition": 2, "key_base64": "/wAK", "value_base64": "AAn/"},
        {"partition": 2, "key": None, "value": None},
        {"partition": 2, "key": "", "value": "-"},
    ]
    run("produce", topic, "--json", stdin="\n".join(map(json.dumps, lines)).encode())
    out = run("consume", topic, "-e", f"--{encoding}", "-k").out
    assert run("produce", copy, "-p", "2", "-K", "\t", "--input", encoding, stdin=out.encode()).status == 0
    records = [[json.loads(line) for line in run("consume", t, "-e", "--json").lines] for t in (topic, copy)]
    fields = ("key", "key_base64", "value", "value_base64")
    assert [[r.get(f) for f in fields] for r in records[1]] == [[r.get(f) for f in fields] for r in records[0]]
    assert run("produce", copy, "--input", encoding, stdin=b"?").status == 1


def test_whole_files_go_in_and_out(run: Run, topic: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    contents = [bytes(range(256)) * 10, b"", b"two\nlines\n"]
    files = [folder / str(number) for number in range(3)]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    options = [word for path in files for word in ("--file", str(path))]
    said = run("produce", topic, "-p", "0", "-H", "a=b", *options)
    assert (said.status, said.err) == (0, f"3 records written to {topic}.\n")
    run("produce", topic, "-p", "0", "--empty-is-null", stdin=b"\n")
    lines = run("consume", topic, "-e", "--value-files", str(folder / "out")).lines
    assert lines == [*(str(folder / "out" / f"{topic}-0-{n}") for n in range(3)), "-"]
    assert [(folder / "out" / f"{topic}-0-{n}").read_bytes() for n in range(3)] == contents
    again = run("consume", topic, "-e", "--value-files", str(folder / "out"))
    assert again.status == 1
    assert "exists already; nothing is overwritten" in again.err
    missing = run("produce", topic, "--file", str(folder / "missing"))
    assert missing.status == 1
    assert "missing cannot be read" in missing.err


# Replicas


def test_replicas_that_are_well(run: Run, topic: str) -> None:
    (described,) = run("topics", "describe", topic, "--json").json
    assert described["partitions"][0] == {
        "partition": 0,
        "leader": 1,
        "leader_epoch": 0,
        "replicas": [1],
        "isr": [1],
        "elr": [],
        "last_known_elr": [],
        "offline": [],
        "start": 0,
        "end": 0,
    }
    rows = run("topics", "replicas", topic).lines
    assert rows[0] == "TOPIC\tPARTITION\tLEADER\tREPLICAS\tISR\tELR\tLAST KNOWN ELR\tOFFLINE"
    assert rows[1] == f"{topic}\t0\t1\t1\t1\t-\t-\t-"
    for option in ("--under-replicated", "--under-min-isr", "--unavailable"):
        nothing = run("topics", "replicas", topic, option)
        assert (nothing.status, nothing.out) == (0, "")
    assert len(run("topics", "replicas", topic, "--at-min-isr", "--json").json) == 3
    assert "(UNKNOWN_TOPIC_OR_PARTITION)" in run("topics", "replicas", "missing").err


def test_partitions_come_in_pages(
    run: Run, name: Callable[..., str], bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pykbroker.client.replica_state._PAGE", 2)
    topics = sorted([name("a"), name("b")])
    assert run("topics", "create", *topics, "-p", "5").status == 0
    rows = run("topics", "replicas", *topics, "--json").json
    assert [(row["topic"], row["partition"]) for row in rows] == [(topic, n) for topic in topics for n in range(5)]


@pytest.mark.parametrize("old", [False, True])
def test_a_topic_may_be_deleted_while_all_are_read(
    name: Callable[..., str], topic: str, bootstrap: str, monkeypatch: pytest.MonkeyPatch, old: bool
) -> None:
    if old:
        monkeypatch.setattr("pykbroker.client.connection.BrokerConnection.supports", lambda self, key: False)
    gone = name("gone")
    with Client(parse_bootstrap(bootstrap), timeout_s=30) as client:
        found = read_replicas(client, [topic, gone], may_lack=True)
        assert found[topic].keys() == {0, 1, 2}
        assert not found.get(gone)
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            read_replicas(client, [topic, gone])


def test_reassignments(run: Run, topic: str) -> None:
    assert run("reassignments", "list", topic, "--json").json == []
    done = run("reassignments", "start", f"{topic}:1=1")
    assert done.lines == [f"{topic}-1 is being moved"]
    missing = run("reassignments", "start", f"{topic}=1,7")
    assert missing.status == 1
    assert f"Partition {topic}-2: " in missing.err
    assert "(INVALID_REPLICA_ASSIGNMENT)" in missing.err
    assert run("reassignments", "start", f"{topic}:9=1").status == 2
    not_moved = run("reassignments", "cancel", f"{topic}:1")
    assert not_moved.status == 1
    assert f"{topic}:1 is not being moved" in not_moved.err
    twice = run("reassignments", "start", f"{topic}=1", f"{topic}:0=1")
    assert twice.status == 2


# How fast


def test_perf_writes_and_reads(run: Run, topic: str) -> None:
    written = run("perf", "produce", topic, "-n", "1050", "--size", "10", "--batch", "100", "--json").json
    assert (written["records"], written["bytes"]) == (1050, 10_500)
    assert 0 < written["p50_ms"] <= written["p99_ms"] <= written["max_ms"]
    assert sum(row["offsets"] for row in run("offsets", topic, "--json").json) == 1050
    read = run("perf", "consume", topic, "--json").json
    assert (read["records"], read["bytes"]) == (1050, 10_500)
    said = run("perf", "consume", topic)
    assert said.out.startswith("1050 records read in ")
    assert said.err == ""
    large = run("perf", "produce", topic, "-n", "300", "--size", "10000", "--json").json
    assert (large["records"], large["bytes"]) == (300, 3_000_000)
    slowly = run("perf", "produce", topic, "-n", "20", "--rate", "100", "--json").json
    assert slowly["records"] == 20
    assert slowly["seconds"] >= 0.2
    assert run("perf", "produce", topic, "--size", "2000000", "--batch", "1").status == 1
