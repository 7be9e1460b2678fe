"""MirrorMaker 2 of Kafka 4.3.1 in its dedicated mode, as a process; and its own client, asked for translated offsets."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from compat_tests.harness.java import QUICK, compile_java, java_command
from compat_tests.harness.process import ServerProcess
from pykbroker.storage.properties import text_of
from pykbroker.tests.kit.ports import free_ports

_MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
_FLAGS = [*QUICK, "-Xmx384m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
#: How records, settings and offsets are copied, in either direction.
_COPYING = {
    **{
        f"{what}.interval.seconds": "1"
        for what in (
            "refresh.topics",
            "refresh.groups",
            "sync.topic.configs",
            "emit.checkpoints",
            "sync.group.offsets",
            "emit.heartbeats",
        )
    },
    "sync.group.offsets.enabled": "true",
    "offset.lag.max": "0",  # the offsets of every record that was copied are noted, so that translation is exact at the end
    "replication.factor": "1",
    **{f"{topic}.topic.replication.factor": "1" for topic in ("checkpoints", "heartbeats", "offset-syncs")},
    "dedicated.mode.enable.internal.rest": "true",  # exactly once asks for it
}
#: Of each cluster: how it is read, and the Connect workers that write to it.
_CLUSTER = {
    "consumer.isolation.level": "read_committed",
    "exactly.once.source.support": "enabled",
    **{f"{topic}.storage.replication.factor": "1" for topic in ("config", "offset", "status")},
    "offset.storage.partitions": "3",
    "status.storage.partitions": "2",
    "plugin.discovery": "service_load",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",
}


class MirrorMaker(ServerProcess):
    """One process that copies what ``topics`` (a regular expression) matches between the clusters ``a`` and ``b``, both ways.

    The copy of ``orders`` in ``a`` is ``a.orders`` in ``b``.
    """

    name = "mirror-maker"
    log_name = "mirror-maker.log"

    def __init__(
        self, folder: Path, a: str, b: str, topics: str, security: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """``a`` and ``b`` are addresses, ``security`` the properties of their clients where they ask for such."""
        super().__init__(folder)
        (self.port,) = free_ports(1)
        self._settings = {
            "clusters": "a, b",
            "a.bootstrap.servers": a,
            "b.bootstrap.servers": b,
            **{f"{flow}.{name}": value for flow in ("a->b", "b->a") for name, value in self._flow(topics).items()},
            "listeners": f"http://{self.host}:{self.port}",
            **_COPYING,
            **{f"{cluster}.{name}": value for cluster in "ab" for name, value in _CLUSTER.items()},
            **{f"{cluster}.{name}": value for cluster, of in (security or {}).items() for name, value in of.items()},
        }

    @staticmethod
    def _flow(topics: str) -> dict[str, str]:
        return {"enabled": "true", "topics": topics, "groups": "moving-.*"}

    def command(self) -> list[str]:
        properties = self.folder / "mirror-maker.properties"
        properties.write_text(text_of(self._settings))
        return [*java_command(_MAIN, "connect", flags=_FLAGS), str(properties)]

    def is_ready(self) -> bool:
        """It answers nobody: what it copies says that it works."""
        return True


def translated(bootstrap: str, source: str, group: str) -> dict[tuple[str, int], int]:
    """Where ``group`` of the cluster called ``source`` would go on here, as RemoteClusterUtils reads it from checkpoints."""
    classes = compile_java([Path(__file__).parent / "Translated.java"], "connect")
    flags = [*QUICK, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = [*java_command("Translated", "connect", classes=classes, flags=flags), bootstrap, source, group]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout
    rows = [line.split() for line in out.splitlines()]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in rows}
