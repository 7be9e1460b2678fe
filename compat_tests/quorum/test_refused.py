"""What keeps a broker of ours out of a cluster of Apache Kafka: a sentence that says what to do, and nothing changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.process import ServerFailed
from compat_tests.quorum.member import Member, consume, create, produce, state
from pykbroker.tests.kit.ports import free_ports


def refused(member: Member) -> str:
    """What it says last."""
    with pytest.raises(ServerFailed, match="ended with 1"):
        member.start()
    return member.log_tail(1)


def partitions(folder: Path) -> dict[str, bytes]:
    """All that a log directory has of partitions of clients, and whose it is."""
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file() and "__cluster_metadata" not in str(each) and each.name != ".lock"
    }


def test_another_cluster(java: ApacheKafka, tmp_path: Path) -> None:
    member = Member(tmp_path, java, 9)
    member.prepare(cluster_id="AAAAAAAAQACAAAAAAAAAAA")
    said = refused(member)
    assert "the controllers are of another cluster: name those of this one" in said


def test_a_node_id_in_use(java: ApacheKafka, ours: Member, tmp_path: Path) -> None:
    topic = create(java.bootstrap, [4])
    said = refused(Member(tmp_path, java, 4, {"initial.broker.registration.timeout.ms": "1000"}))
    assert "another broker with node.id 4 is running: give each a node.id of its own" in said
    assert state(java.bootstrap, topic) == (4, {4})


def test_a_folder_of_another_node(java: ApacheKafka, tmp_path: Path) -> None:
    member = Member(tmp_path, java, 9)
    member.prepare()
    before = partitions(member.data_dir)
    text = member.properties.read_text()
    member.properties.write_text(text.replace("node.id=9\n", "node.id=8\n"))
    said = refused(member)
    assert "belongs to node.id 9, not 8: use another directory, or set node.id to 9" in said
    assert partitions(member.data_dir) == before


def test_a_folder_that_is_not_formatted(java: ApacheKafka, tmp_path: Path) -> None:
    member = Member(tmp_path, java, 9)
    member.prepare()
    (member.data_dir / "meta.properties").unlink()
    (member.data_dir / "bootstrap.checkpoint").unlink()
    assert "kafka-storage format --cluster-id ID" in refused(member)


def test_voters_that_are_not_reached(java: ApacheKafka, tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    settings = {"controller.quorum.bootstrap.servers": nobody, "initial.broker.registration.timeout.ms": "1000"}
    member = Member(tmp_path, java, 9, settings)
    said = refused(member)
    assert "no controller that leads is reached: check that they run" in said
    assert nobody in member.log_tail()


def test_a_stop_of_the_broker_alone(java: ApacheKafka, ours: Member) -> None:
    """Its controllers would not hear of it."""
    topic = create(java.bootstrap, [4])
    for options in ([], ["--abrupt"]):
        command = [
            sys.executable,
            "-m",
            "pykbroker",
            "brokers",
            "stop",
            "4",
            *options,
            "--data-dir",
            str(ours.data_dir),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "stop and start its own process" in done.stderr
    produce(ours.bootstrap, topic, [b"goes on"])
    assert consume(ours.bootstrap, topic, 1) == [b"goes on"]


def test_a_level_above_ours(java: ApacheKafka, tmp_path: Path) -> None:
    """As Kafka 4.3, which knows levels up to 30, where 33 is finalized."""
    member = Member(tmp_path, java, 9, arguments=["--as-version", "4.3"])
    said = refused(member)
    assert "the cluster has finalized a feature, or a level of one, that this broker does not support" in said
    assert "metadata.version is at 33, and levels 7 to 30 are known here" in said
