"""``pykbroker produce`` and ``consume``. Nothing is skipped."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from compat_tests.cli.conftest import Result
from compat_tests.harness.process import BrokerProcess
from pykbroker.seeding.partitioner import murmur2

Run = Callable[..., Result]
START = 1_769_868_000_000  # 2026-01-31T14:00:00Z


def test_lines_become_records(run: Run, topic: str) -> None:
    said = run("produce", topic, stdin=b"one\ntwo\nthree")
    assert said.status == 0
    assert said.err == f"3 records written to {topic}.\n"
    assert run("consume", topic, "--exit").lines == ["one", "two", "three"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(run: Run, topic: str, codec: str) -> None:
    lines = [f"line {number} of {codec}" for number in range(500)]
    assert run("produce", topic, "-z", codec, "-p", "1", stdin="\n".join(lines).encode()).status == 0
    assert run("consume", topic, "-e").lines == lines


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(run: Run, topic: str, acks: str) -> None:
    assert (
        run("produce", topic, "-p", "1", stdin=b"w").status == 0
    )  # nobody says that acks=0 came before there was a leader
    assert run("produce", topic, "-p", "1", "--acks", acks, stdin=b"x").status == 0
    assert run("consume", topic, "-n", "2").lines == ["w", "x"]


def test_keys_headers_and_times(run: Run, topic: str) -> None:
    options = ("-K", ":", "-H", "source=test", "-H", "n=1", "--timestamp", "2026-01-31T14:00Z")
    assert run("produce", topic, *options, stdin=b"k1:v1\nk2:a:b\nk3:").status == 0
    found = sorted(run("consume", topic, "-e", "--json").lines)
    records = sorted(map(json.loads, found), key=lambda record: record["key"])
    assert [(r["key"], r["value"]) for r in records] == [("k1", "v1"), ("k2", "a:b"), ("k3", "")]
    for record in records:
        assert record["timestamp"] == 1_769_868_000_000
        assert record["headers"] == [{"key": "source", "value": "test"}, {"key": "n", "value": "1"}]
        assert record["partition"] == (murmur2(record["key"].encode()) & 0x7FFFFFFF) % 3
    columns = run("consume", topic, "-e", "-k", "-H", "-t").lines
    assert "2026-01-31T14:00:00.000Z\tsource=test,n=1\tk1\tv1" in columns


def test_tombstones(run: Run, topic: str) -> None:
    assert run("produce", topic, "--key", "k", "--empty-is-null", stdin=b"v\n\n").status == 0
    assert run("consume", topic, "-e", "-f", "%k=%v %V\\n").lines == ["k=v 1", "k=null -1"]


def test_json_goes_out_as_it_came_in(run: Run, topic: str, name: Callable[..., str]) -> None:
    copy = name("copy")
    assert run("topics", "create", copy, "-p", "3").status == 0
    lines = [
        {"partition": 2, "timestamp": 5, "key": "k", "value": "v", "headers": [{"key": "h", "value": None}]},
        {"partition": 2, "timestamp": 6, "key": None, "value_base64": "/w==", "headers": []},
    ]
    run("produce", topic, "--json", stdin="\n".join(map(json.dumps, lines)).encode())
    out = run("consume", topic, "-e", "--json").out
    assert run("produce", copy, "--json", stdin=out.encode()).status == 0
    copied = run("consume", copy, "-e", "--json").lines
    assert copied == out.replace(topic, copy).splitlines()
    assert [json.loads(line) for line in copied] == [
        {"topic": copy, "offset": offset, **line} for offset, line in enumerate(lines)
    ]


def test_a_line_without_separator_is_refused(run: Run, topic: str) -> None:
    result = run("produce", topic, "-K", ":", stdin=b"no separator")
    assert result.status == 1
    assert "Line 1: there is no ':' between key and value: no separator." in result.err


def test_a_bad_line_costs_no_line_before_it(run: Run, topic: str) -> None:
    lines = b'{"value": "1"}\n{"value": "2"}\nnonsense\n{"value": "4"}'
    result = run("produce", topic, "--json", stdin=lines)
    assert result.status == 1
    assert "Line 3: not JSON (expecting value at character 1): nonsense." in result.err
    assert "Every line before it is written, 2 records; --skip-bad leaves bad lines out." in result.err
    assert sorted(run("consume", topic, "-e").lines) == ["1", "2"]


def test_bad_lines_can_be_left_out(run: Run, topic: str) -> None:
    lines = b'{"value": "1"}\nnonsense\n{"value": "3"}\n{"valu": "4"}\n{"value": "5", "partition": 3}\n'
    result = run("produce", topic, "--json", "--skip-bad", stdin=lines)
    assert result.status == 0
    assert result.err.splitlines() == [
        "Line 2 is left out: not JSON (expecting value at character 1): nonsense.",
        'Line 4 is left out: there is no field "valu"; did you mean "value"?',
        f"Line 5 is left out: there is no partition 3; {topic} has 3 partitions.",
        f"2 records written to {topic}, 3 lines left out.",
    ]
    assert sorted(run("consume", topic, "-e").lines) == ["1", "3"]


def test_a_record_that_the_broker_refuses_costs_no_other(run: Run, topic: str) -> None:
    run("topics", "alter", topic, "-c", "max.message.bytes=1000")
    lines = [b"%d" % number for number in range(100)]
    lines[70] = b"x" * 2000
    result = run("produce", topic, "-p", "1", stdin=b"\n".join(lines))
    assert result.status == 1
    assert "Line 71: refused: " in result.err
    assert "Every line before it is written, 70 records;" in result.err
    result = run("produce", topic, "-p", "1", "--skip-bad", stdin=b"\n".join(lines))
    assert result.status == 0
    assert result.err.endswith(f"99 records written to {topic}, 1 line left out.\n")
    good = [line.decode() for line in lines if len(line) < 1000]
    assert run("consume", topic, "-e").lines == good[:70] + good


def test_lines_that_are_too_large_only_together_are_all_written(run: Run, topic: str) -> None:
    assert run("produce", topic, "-p", "0", stdin=b"x" * 400_000 + b"\n" + b"y" * 900_000).status == 0
    assert list(map(len, run("consume", topic, "-e").lines)) == [400_000, 900_000]


def test_a_key_that_only_compaction_misses(run: Run, name: Callable[..., str]) -> None:
    compacted = name("compacted")
    run("topics", "create", compacted, "-p", "1", "-c", "cleanup.policy=compact")
    result = run("produce", compacted, "--json", stdin=b'{"key": "k", "value": "1"}\n{"value": "2"}')
    assert result.status == 1
    assert "Line 2: refused: " in result.err
    assert "(INVALID_RECORD)" in result.err
    assert run("consume", compacted, "-e").lines == ["1"]


def test_bytes_that_are_not_utf_8_go_out_as_they_came_in(run: Run, topic: str) -> None:
    odd = os.fsdecode(b"\xff")
    assert run("produce", topic, "--key", odd, "-H", f"a={odd}", "-H", f"{odd}=b", stdin=b"\xff").status == 0
    assert run("consume", topic, "-e", "-f", "%k %v %h").out.encode("utf-8", "surrogateescape")
    (line,) = run("consume", topic, "-e", "--json").lines
    assert run("produce", topic, "--json", stdin=line.encode()).status == 0
    first, second = map(json.loads, run("consume", topic, "-e", "--json").lines)
    assert first | {"offset": 1} == second


def test_standard_input_that_is_closed(bootstrap: str, topic: str) -> None:
    command = f"exec {sys.executable} -m pykbroker produce {topic} <&-"
    environment = {**os.environ, "PYKBROKER_BOOTSTRAP": bootstrap}
    done = subprocess.run(command, shell=True, env=environment, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (2, b"error: Standard input is closed; there is nothing to read.\n")


def test_a_record_too_large_is_refused(run: Run, topic: str) -> None:
    run("topics", "alter", topic, "-c", "max.message.bytes=1000")
    result = run("produce", topic, stdin=b"x" * 2000)
    assert result.status == 1
    assert "(MESSAGE_TOO_LARGE). Raise the topic's max.message.bytes" in result.err
    assert "Line 1: refused: " in result.err


def test_a_partition_that_is_not_there(run: Run, topic: str) -> None:
    assert run("produce", topic, "-p", "3", stdin=b"x").status == 2
    result = run("consume", topic, "-p", "7", "-e")
    assert result.status == 2
    assert f"Topic {topic} has no partition 7." in result.err


def test_a_topic_that_does_not_exist(run: Run, name: Callable[..., str]) -> None:
    result = run("consume", name("missing"), "-e")
    assert result.status == 1
    assert "(UNKNOWN_TOPIC_OR_PARTITION). `pykbroker topics list`" in result.err


# Where to begin and where to end


@pytest.fixture
def numbered(run: Run, topic: str) -> str:
    """The numbers 0 to 9 in partition 1, a second apart from 2026-01-31T14:00:00Z on, in two batches."""
    lines = [
        json.dumps({"partition": 1, "timestamp": START + number * 1000, "value": str(number)}) for number in range(10)
    ]
    for some in (lines[:3], lines[3:]):
        run("produce", topic, "--json", stdin="\n".join(some).encode())
    return topic


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (0, ""),
        (10, ""),
        (11, "Offset 11 is beyond the end of {topic}-1 (10); reading begins at the end.\n"),
        (99, "Offset 99 is beyond the end of {topic}-1 (10); reading begins at the end.\n"),
    ],
)
def test_an_offset_beyond_the_end_is_told(run: Run, numbered: str, offset: int, said: str) -> None:
    result = run("consume", numbered, "-e", "-p", "1", "-o", str(offset))
    assert (result.status, result.err) == (0, said.format(topic=numbered))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "0123456789"),
        (("--beginning",), "0123456789"),
        (("--end",), ""),
        (("--offset", "7"), "789"),
        (("--offset", "99"), ""),
        (("--since", "2026-01-31T14:00:04.500Z"), "56789"),
        (("--since", "@0"), "0123456789"),
        (("--since", "1ms"), ""),
        (("--last", "3"), "789"),
        (("--last", "30"), "0123456789"),
        (("--max", "4"), "0123"),
        (("--last", "5", "-n", "2"), "56"),
        (("-p", "0"), ""),
        (("-p", "1", "-p", "2", "-o", "8"), "89"),
    ],
)
def test_from_and_to(run: Run, numbered: str, options: tuple[str, ...], expected: str) -> None:
    assert "".join(run("consume", numbered, "--exit", *options).lines) == expected


def test_the_last_records_of_all_partitions_in_order_of_time(run: Run, topic: str) -> None:
    for number in range(6):
        run("produce", topic, "-p", str(number % 3), "--timestamp", f"@{1000 + number}", stdin=b"%d" % number)
    assert run("consume", topic, "-e", "--last", "4").lines == ["2", "3", "4", "5"]


def test_several_topics(run: Run, topic: str, name: Callable[..., str]) -> None:
    other = name("other")
    run("topics", "create", other)
    run("produce", topic, stdin=b"a")
    run("produce", other, stdin=b"b")
    assert sorted(run("consume", topic, other, "-e", "-f", "%t %v\\n").lines) == sorted([f"{topic} a", f"{other} b"])


def test_many_records_come_once_and_in_order(run: Run, topic: str) -> None:
    numbers = b"".join(b"%d\n" % number for number in range(10_000))
    assert run("produce", topic, "-p", "0", "-z", "lz4", stdin=numbers).status == 0
    assert run("consume", topic, "-n", "10000").out.encode() == numbers


# As a process


def _process(bootstrap: str, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pykbroker", *arguments]
    environment = {**os.environ, "PYKBROKER_BOOTSTRAP": bootstrap, "TERM": "xterm"}
    return subprocess.Popen(command, env=environment, **options)  # type: ignore[call-overload]


def test_following_ends_with_ctrl_c(run: Run, bootstrap: str, topic: str) -> None:
    run("produce", topic, stdin=b"before")
    with _process(bootstrap, "consume", topic, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"before\n"
        run("produce", topic, stdin=b"after")
        assert process.stdout.readline() == b"after\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_reader_that_has_seen_enough(run: Run, bootstrap: str, topic: str) -> None:
    run("produce", topic, stdin=b"line\n" * 10_000)
    with _process(bootstrap, "consume", topic, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        run("produce", topic, stdin=b"line\n" * 10_000)
        assert process.wait() == 141
        assert process.stderr.read() == b""


def _three_lines(bootstrap: str, topic: str, producer: subprocess.Popen[bytes]) -> None:
    """Have three records written. When the third can be read, the answer to the first two has arrived."""
    assert producer.stdin is not None
    for count, lines in ((2, b"one\ntwo\n"), (3, b"three\n")):
        producer.stdin.write(lines)
        producer.stdin.flush()
        with _process(bootstrap, "consume", topic, "-n", str(count), stdout=subprocess.PIPE) as reader:
            reader.communicate()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_producer_says_what_was_written(bootstrap: str, topic: str, number: int, status: int) -> None:
    with _process(bootstrap, "produce", topic, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        _three_lines(bootstrap, topic, process)
        process.send_signal(number)
        _, err = process.communicate()
    told = (
        rb"error: Interrupted\. Written before to \S+: (3 records|2 records; whether 1 more were, no answer tells)\.\n"
    )
    assert process.returncode == status
    assert re.fullmatch(told, err)


def test_a_broker_that_goes_away_is_told_with_what_was_written(start_target: Callable[..., BrokerProcess]) -> None:
    broker = start_target()
    with _process(broker.bootstrap, "topics", "create", "t") as creating:
        assert creating.wait() == 0  # whoever reads it finds it
    arguments = ("produce", "t", "--timeout", "5")
    with _process(broker.bootstrap, *arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        _three_lines(broker.bootstrap, "t", process)
        broker.kill()
        _, err = process.communicate(b"four\n")
    assert process.returncode == 3
    assert re.search(rb"Written before to t: (3|2) records; whether [12] more were, no answer tells\.", err)


def test_typed_lines_are_sent_one_by_one(run: Run, bootstrap: str, topic: str) -> None:
    with _process(bootstrap, "produce", topic, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        for line in ("first", "second"):
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            assert run("consume", topic, "-f", "%v\\n", "-n", "2" if line == "second" else "1").lines[-1] == line
        process.stdin.close()
        assert process.wait() == 0


def test_a_terminal_gets_tables_and_colours(run: Run, bootstrap: str, topic: str) -> None:
    run("produce", topic, "--key", "k", stdin=b"v")
    ours, theirs = pty.openpty()
    shown = b""
    for arguments in (("topics", "list"), ("consume", topic, "-e", "-k")):
        with _process(bootstrap, *arguments, stdout=theirs, stderr=theirs, stdin=theirs) as process:
            deadline = time.monotonic() + 60
            while process.poll() is None or select.select([ours], [], [], 0)[0]:
                assert time.monotonic() < deadline
                if select.select([ours], [], [], 0.05)[0]:
                    shown += os.read(ours, 65536)
            assert process.returncode == 0, shown
    os.close(ours)
    os.close(theirs)
    assert b"\x1b[2mTOPIC" in shown
    assert b"\x1b[36mk\x1b[0m\tv" in shown
