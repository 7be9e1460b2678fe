"""The oracle: Apache Kafka 4.4.0 from its Maven jars, as one node that is broker and KRaft controller."""

from __future__ import annotations

import base64
import re
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from compat_tests.harness.java import QUICK, java_command
from compat_tests.harness.process import (
    NO_RETENTION_MS,
    BrokerProcess,
    ServerFailed,
    answers_api_versions,
    listening_ports,
)
from compat_tests.oracle.connection import Closed, Connection
from pykbroker.tests.kit.ports import free_ports
from pykbroker.wire.messages.metadata import MetadataRequest

_ONE_NODE = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "150",  # the same as pykbroker's
    "log.initial.task.delay.ms": NO_RETENTION_MS,
    "broker.session.timeout.ms": "3000",  # session timeout: a killed node may register again after this time
    "broker.heartbeat.interval.ms": "500",
}


#: A plug-in for client telemetry.
METRICS_TAKER = Path(__file__).parent / "java_src" / "MetricsTaker.java"


class ApacheKafka(BrokerProcess):
    """Apache Kafka 4.4.0. ``flags`` are the JVM's; the default ones start fast, the bench passes Kafka's own."""

    name = "kafka"
    #: The set of jars with which it is started.
    jars = "kafka"

    def __init__(
        self,
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        flags: list[str] | None = None,
        node_id: int = 1,
        standalone: bool = False,
        features: Sequence[str] = (),
        formatting: list[str] | None = None,
        plugins: Path | None = None,
    ) -> None:
        """A ``node.id`` among the settings wins over ``node_id``.

        ``standalone`` formats a dynamic quorum of this one node (KIP-853); without it, the voters are static.
        ``features`` are formatted at other levels than the default: ``name=level``. ``formatting`` are the JVM flags
        for formatting the storage. ``plugins`` is a folder of classes beside Kafka's own.
        """
        super().__init__(folder, settings)
        self.node_id = int(self.settings.get("node.id", node_id))
        self.standalone = standalone
        self.features = features
        self._formatting = formatting
        self._plugins = plugins
        self.flags = [*QUICK, "-Xmx700m"] if flags is None else flags
        self.properties = folder / "server.properties"

    def start(self) -> None:
        self.prepare()
        super().start()

    def prepare(self) -> None:
        """Write the settings, and format the log directory, if that is to be done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.properties.exists():
            free, self._controller_port = free_ports(2)
            self.port = self.port or free
            self._write_properties()
        if not (self.data_dir / "meta.properties").exists():
            self._format()

    def command(self) -> list[str]:
        return [*java_command("kafka.Kafka", self.jars, classes=self._plugins, flags=self.flags), str(self.properties)]

    def is_ready(self) -> bool:
        """Requests are answered, all listeners are open, which Apache Kafka opens one after another, and it knows that it is a broker."""
        return (
            answers_api_versions(self.host, self.port)
            and self._listener_ports() <= listening_ports()
            and self.node_id in self._known_brokers()
        )

    def _known_brokers(self) -> set[int]:
        """The brokers that are not fenced, as it says itself."""
        try:
            with closing(Connection(self.bootstrap)) as connection:
                return {each.node_id for each in connection.ask(MetadataRequest([]), 9).brokers}  # type: ignore[attr-defined]
        except (OSError, Closed):
            return set()

    def _listener_ports(self) -> set[int]:
        listeners = re.search(r"^listeners=(.*)$", self.properties.read_text(), re.MULTILINE)
        assert listeners is not None
        return {int(port) for port in re.findall(r":(\d+)(?=,|$)", listeners[1])}

    @property
    def controller(self) -> str:
        """Return ``host:port`` of the controller's listener."""
        return f"{self.host}:{self._controller_port}"

    def _write_properties(self) -> None:
        settings = {
            **_ONE_NODE,
            "node.id": str(self.node_id),
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            **self._roles(self.controller),
            "log.dirs": str(self.data_dir),
            **self.settings,
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def _roles(self, controller: str) -> dict[str, str]:
        listeners = {"listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}"}
        if self.standalone:
            return {**listeners, "controller.quorum.bootstrap.servers": controller}
        return {**listeners, "controller.quorum.voters": f"{self.node_id}@{controller}"}

    def cluster_id(self) -> str:
        """Return the cluster id to format with."""
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # a leading dash would be parsed as an option
        return "A" + cluster_id[1:] if cluster_id.startswith("-") else cluster_id

    def _format(self) -> None:
        command = [
            *java_command("kafka.tools.StorageTool", self.jars, flags=self._formatting),
            "format",
            "-t",
            self.cluster_id(),
            "-c",
            str(self.properties),
            *(["--standalone"] if self.standalone else []),
            *(word for feature in self.features for word in ("--feature", feature)),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise ServerFailed(f"formatting the oracle's storage failed:\n{done.stdout[-2000:]}")


class ApacheBroker(ApacheKafka):
    """Another broker in the cluster of a started node, which is its controller."""

    def __init__(self, folder: Path, first: ApacheKafka, node_id: int, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder, settings, node_id=node_id)
        self._first = first

    def _roles(self, controller: str) -> dict[str, str]:
        del controller  # it is no controller
        return {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.quorum.voters": f"{self._first.node_id}@{self._first.controller}",
        }

    def cluster_id(self) -> str:
        """Return the first node's cluster id."""
        properties = (self._first.data_dir / "meta.properties").read_text()
        return next(line.partition("=")[2] for line in properties.splitlines() if line.startswith("cluster.id="))


class ApacheController(ApacheKafka):
    """A controller alone (``process.roles=controller``). ``voters`` are the static voters by id, itself among them; without them it is a
    dynamic quorum of its own. ``port`` is that of its one listener.
    """

    name = "kafka controller"

    def __init__(
        self,
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        node_id: int = 1,
        voters: Mapping[int, int] | None = None,
        cluster_id: str | None = None,
    ) -> None:
        """``voters`` has the port of each."""
        super().__init__(folder, settings, flags=[*QUICK, "-Xmx256m"], node_id=node_id, standalone=voters is None)
        self._voters = voters
        self._cluster_id = cluster_id or super().cluster_id()
        if voters is not None:
            self.port = voters[node_id]

    def is_ready(self) -> bool:
        return answers_api_versions(self.host, self.port)

    @property
    def controller(self) -> str:
        """Return ``host:port`` of its listener."""
        return self.bootstrap

    def _roles(self, controller: str) -> dict[str, str]:
        listener = f"CONTROLLER://{controller}"
        roles = {"process.roles": "controller", "listeners": listener, "advertised.listeners": listener}
        if self._voters is None:
            return {**roles, "controller.quorum.bootstrap.servers": controller}
        voters = ",".join(f"{each}@{self.host}:{port}" for each, port in self._voters.items())
        return {**roles, "controller.quorum.voters": voters}

    def cluster_id(self) -> str:
        return self._cluster_id
