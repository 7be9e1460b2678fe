"""kcat, librdkafka's command line: producing, reading, metadata as JSON, offsets by time, groups.

Skipped where kcat is not installed. Left out: its Avro mode and its mock cluster.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable

import pytest

KCAT = shutil.which("kcat")
pytestmark = pytest.mark.skipif(KCAT is None, reason="kcat is not installed (on Debian: apt-get install kcat)")


@pytest.fixture
def kcat(bootstrap: str) -> Callable[..., str]:
    """Runs kcat against the broker; returns its standard output, or its standard error where it fails as expected."""

    def run(*arguments: str, stdin: str = "", status: int = 0) -> str:
        assert KCAT is not None
        done = subprocess.run(
            [KCAT, "-b", bootstrap, *arguments], input=stdin, capture_output=True, text=True, timeout=150, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout

    return run


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produce_and_consume(kcat, name, codec):
    topic, lines = name(), [f"key {i}:value {i}" for i in range(200)]
    kcat("-P", "-t", topic, "-K", ":", "-z", codec, stdin="\n".join(lines) + "\n")
    assert kcat("-C", "-t", topic, "-e", "-q", "-f", "%k:%s\n").splitlines() == lines


@pytest.mark.parametrize("acks", ["0", "1", "-1"])
def test_acks(kcat, name, acks):
    topic = name()
    kcat("-P", "-t", topic, "-X", f"acks={acks}", stdin="one\ntwo\n")
    assert kcat("-C", "-t", topic, "-c", "2", "-q") == "one\ntwo\n"


def test_headers_and_places(kcat, name):
    topic = name()
    kcat("-P", "-t", topic, "-H", "a=1", "-H", "b=two", stdin="value\n")
    assert kcat("-C", "-t", topic, "-e", "-q", "-f", "%p %o %h %s\n") == "0 0 a=1,b=two value\n"


def test_json_envelope(kcat, name):
    topic = name()
    kcat("-P", "-t", topic, "-K", ":", stdin="k:v\n")
    (record,) = map(json.loads, kcat("-C", "-t", topic, "-e", "-q", "-J").splitlines())
    assert (record["topic"], record["offset"], record["key"], record["payload"]) == (topic, 0, "k", "v")


def test_from_an_offset_and_from_the_end(kcat, name):
    topic = name()
    kcat("-P", "-t", topic, stdin="".join(f"{i}\n" for i in range(10)))
    assert kcat("-C", "-t", topic, "-p", "0", "-o", "7", "-e", "-q").split() == ["7", "8", "9"]
    assert kcat("-C", "-t", topic, "-p", "0", "-o", "-2", "-e", "-q").split() == ["8", "9"]


def test_offsets_by_time(kcat, name):
    topic = name()
    kcat("-P", "-t", topic, stdin="one\n")
    assert kcat("-Q", "-t", f"{topic}:0:0").strip() == f"{topic} [0] offset 0"
    assert kcat("-Q", "-t", f"{topic}:0:-1").strip() == f"{topic} [0] offset 1"


def test_metadata(kcat, name, target):
    topic = name()
    kcat("-P", "-t", topic, stdin="one\n")
    listed = json.loads(kcat("-L", "-J", "-t", topic))
    assert [broker["name"] for broker in listed["brokers"]] == [target.bootstrap]
    (found,) = listed["topics"]
    assert (found["topic"], found["partitions"]) == (
        topic,
        [{"partition": 0, "leader": 1, "replicas": [{"id": 1}], "isrs": [{"id": 1}]}],
    )


def test_group_resumes(kcat, name):
    topic, group = name(), name("group")
    kcat("-P", "-t", topic, stdin="".join(f"{i}\n" for i in range(10)))
    assert kcat("-G", group, "-c", "4", "-q", "-X", "auto.offset.reset=earliest", topic).split() == ["0", "1", "2", "3"]
    assert kcat("-G", group, "-c", "6", "-q", "-X", "auto.offset.reset=earliest", topic).split() == [
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
    ]


def test_an_unknown_topic(kcat, name):
    assert "Unknown topic or partition" in kcat(
        "-C", "-t", name(), "-e", "-X", "allow.auto.create.topics=false", status=1
    )
