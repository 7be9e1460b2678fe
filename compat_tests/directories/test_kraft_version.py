"""Features are upgraded to those of the release, dynamic voters among them (KIP-853), and either broker goes on with that."""

from __future__ import annotations

import re

from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.tools.by_name import ours_here

_ASKED = (
    ["upgrade", "--feature", "kraft.version=1", "--dry-run"],
    ["downgrade", "--feature", "kraft.version=1"],
    ["upgrade", "--feature", "kraft.version=1"],
    ["describe"],
    ["upgrade", "--feature", "kraft.version=1"],
    ["upgrade", "--feature", "kraft.version=0"],
    ["upgrade", "--feature", "kraft.version=2"],
    ["downgrade", "--feature", "kraft.version=0"],
    ["downgrade", "--feature", "kraft.version=0", "--unsafe"],
    ["disable", "--feature", "kraft.version", "--unsafe", "--dry-run"],
)


def test_ours_upgrades_and_kafka_goes_on(tmp_path, kafka_tools: KafkaTools) -> None:
    reported, voters = {}, {}
    directories = SharedLogDirectories(tmp_path)
    try:
        for turn, who in enumerate(("ours", "kafka", "ours")):
            directories.start(who)
            at = ("--bootstrap-server", directories.bootstrap)
            reported[turn] = [_without_epoch(kafka_tools("features", *at, *words).out) for words in _ASKED[turn > 0 :]]
            if who == "ours":
                mine = [_without_epoch(ours_here("features", *at, *words).out) for words in _ASKED[3:]]
                assert mine == reported[turn][-len(mine) :]
            quorum = kafka_tools("metadata-quorum", *at, "describe", "--status").out
            voters[turn] = re.findall(r'"id": 1, "directoryId": "\S{22}"', quorum)
            directories.end("stop")
    finally:
        directories.end("kill")
    assert reported[1] == reported[2]
    assert reported[1][1:] == reported[0][2:]
    assert len(voters[0]) == 1
    assert voters[1] == voters[2] == voters[0]
    assert "kraft.version was upgraded to 1." in reported[0][2]


def test_what_is_written_is_what_kafka_writes(tmp_path, kafka_tools: KafkaTools) -> None:
    written = []
    for who in ("ours", "kafka"):
        directories = SharedLogDirectories(tmp_path / who)
        directories.start(who)
        try:
            at = ("--bootstrap-server", directories.bootstrap)
            assert ours_here("features", *at, "upgrade", "--feature", "kraft.version=1").status == 0
        finally:
            directories.end("stop")
        files = [*directories.paths[0].glob("__cluster_metadata-0/*.log")]
        dumped = kafka_tools("dump-log", "--cluster-metadata-decoder", "--files", ",".join(map(str, files))).out
        assert ours_here("dump-log", "--cluster-metadata-decoder", "--files", ",".join(map(str, files))).out == dumped
        own = re.search(r"^directory.id=(\S+)", (directories.paths[0] / "meta.properties").read_text(), re.MULTILINE)
        assert own is not None
        (voters,) = re.findall(r"KRaftVersion (\{.*\})\n.*KRaftVoters (\{.*\})", dumped)
        written.append([re.sub(r'(?<="endpoints":)\[.*?\]', "[]", each).replace(own[1], "ID") for each in voters])
    assert written[0] == written[1]


def _without_epoch(reported: str) -> str:
    return re.sub(r"Epoch: \d+", "", reported)
