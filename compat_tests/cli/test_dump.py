"""``pykbroker dump`` on the data directory of the broker under test. Nothing is skipped."""

from __future__ import annotations

import json
from collections.abc import Callable

from compat_tests.cli.conftest import Result
from compat_tests.harness.process import BrokerProcess

Run = Callable[..., Result]


def test_a_topics_records(run: Run, target: BrokerProcess, topic: str) -> None:
    run("produce", topic, "-p", "1", "-z", "zstd", "--key", "k", stdin=b"one\ntwo")
    (log,) = (target.data_dir / f"{topic}-1").glob("*.log")
    (batch,) = map(json.loads, run("dump", "--records", "--json", str(log)).lines)
    assert batch["batch"]["compression"] == "zstd"
    assert [(r["offset"], r["key"], r["value"]) for r in batch["records"]] == [(0, "k", "one"), (1, "k", "two")]


def test_committed_offsets(run: Run, target: BrokerProcess, topic: str, name: Callable[..., str]) -> None:
    group = name("group")
    run("produce", topic, "-p", "1", stdin=b"one\ntwo")
    run("consume", topic, "-g", group, "-n", "2")
    logs = [str(path) for path in target.data_dir.glob("__consumer_offsets-*/*.log")]
    lines = run("dump", "--records", "--json", *logs).lines
    records = [record for line in lines for record in json.loads(line)["records"]]
    commits = [r for r in records if r.get("type") == "OffsetCommit" and r["key"]["group"] == group and r["value"]]
    assert commits
    last = [r for r in commits if r["key"]["partition"] == 1][-1]
    assert (last["key"]["topic"], last["value"]["offset"]) == (topic, 2)
    groups = [r for r in records if r.get("type") == "GroupMetadata" and r["key"]["group"] == group and r["value"]]
    members = [member for record in groups for member in record["value"]["members"]]
    assert members[0]["subscription"]["topics"] == [topic]
    assert not [r for r in records if "unreadable" in r]


def test_metadata(run: Run, target: BrokerProcess, topic: str) -> None:
    (log,) = (target.data_dir / "__cluster_metadata-0").glob("*.log")
    lines = run("dump", "--records", "--json", str(log)).lines
    records = [record for line in lines for record in json.loads(line)["records"]]
    (described,) = run("topics", "describe", topic, "--json").json
    (created,) = [r for r in records if r["type"] == "TopicRecord" and r["value"]["name"] == topic]
    assert created["value"]["topic_id"] == described["id"]
    assert not [r for r in records if "unreadable" in r]


def test_no_fault_is_found_in_a_running_brokers_files(run: Run, target: BrokerProcess, topic: str) -> None:
    run("produce", topic, "-p", "0", stdin=b"x\n" * 5000)
    folder = target.data_dir / f"{topic}-0"
    result = run("dump", "--verify", str(folder))
    assert result.status == 0, result.out
    for path in sorted(folder.iterdir()):
        if path.suffix in (".index", ".timeindex", ".metadata") or path.name.endswith("-checkpoint"):
            assert run("dump", str(path)).status == 0, path
