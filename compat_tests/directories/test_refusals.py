"""What both brokers refuse, and put aside: a log directory that another process serves, and partitions of unknown topics."""

from __future__ import annotations

import base64
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.directories.client import Client
from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.harness.process import ServerFailed
from pykbroker.wire.records import Record, encode_batch

_STRAY = re.compile(r"(.+)\.[0-9a-f]{32}-stray")
#: Apache Kafka says why in its log, which these tests have it not write.
_REFUSED = {"kafka": "kafka ended with 1", "ours": "is in use by another broker; stop that one"}


def test_a_log_directory_is_served_by_one_process(tmp_path):
    directories = SharedLogDirectories(tmp_path)
    try:
        for first, second in (("kafka", "ours"), ("ours", "kafka")):
            directories.start(first)
            with pytest.raises(ServerFailed, match=_REFUSED[second]):
                directories.start_second(second)
            with closing(Client(directories.bootstrap)) as client:
                client.served()
                client.create(f"while {first} serves".replace(" ", "-"))
            directories.end("stop")
    finally:
        directories.end("kill")


def test_partitions_of_topics_that_are_gone_are_put_aside(tmp_path):
    """Both rename them to ``<name>.<32 hex digits>-stray``, and neither looks at them again."""
    directories = SharedLogDirectories(tmp_path)
    (path,) = directories.paths
    expected = []
    try:
        for who in ("kafka", "ours"):
            replaced, gone = f"replaced-{who}", f"gone-{who}"
            assert _produced(directories, who, replaced, new=True) == 0
            _give_other_topic_id(path / f"{replaced}-0")
            shutil.copytree(path / f"{replaced}-0", path / f"{gone}-0")
            assert _produced(directories, who, replaced) == 0
            expected += [f"{gone}-0", f"{replaced}-0"]
            found = [_STRAY.fullmatch(stray.name) for stray in path.glob("*-stray")]
            assert sorted(stray[1] for stray in found if stray) == sorted(expected), who
            assert not (path / f"{gone}-0").exists()
    finally:
        directories.end("kill")


def _produced(directories: SharedLogDirectories, who: str, topic: str, *, new: bool = False) -> int:
    """A run of a broker in which it gets one record; its offset."""
    directories.start(who)
    with closing(Client(directories.bootstrap)) as client:
        client.served()
        if new:
            client.create(topic)
        offset = client.produce(topic, encode_batch([Record(timestamp=1, value=b"kept")]))
    directories.end("stop")
    return offset


def _give_other_topic_id(partition: Path) -> None:
    topic_id = base64.urlsafe_b64encode(bytes(range(16))).decode().rstrip("=")
    (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
