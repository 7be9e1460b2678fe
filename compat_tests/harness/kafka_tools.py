"""Runs Kafka's command-line tools by class name, in one Java process that lives as long as the session."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.class_archives import KAFKA
from compat_tests.harness.java import compile_java, java_command

_SOURCE = Path(__file__).parent / "java_src" / "ToolServer.java"

#: The tools' names as in Kafka's ``bin`` folder.
_MAIN = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "groups": "org.apache.kafka.tools.GroupsCommand",
    "configs": "org.apache.kafka.tools.ConfigCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "verifiable-share-consumer": "org.apache.kafka.tools.VerifiableShareConsumer",
    "e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "transactional-copier": "org.apache.kafka.tools.TransactionalMessageCopier",
    "client-compatibility": "org.apache.kafka.tools.ClientCompatibilityTest",
    "replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
    "console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "producer-perf": "org.apache.kafka.tools.ProducerPerformance",
    "consumer-perf": "org.apache.kafka.tools.ConsumerPerformance",
    "client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "storage": "kafka.tools.StorageTool",
}


def tool_command(tool: str) -> list[str]:
    """Return the command line of a tool in a process of its own; the caller adds arguments."""
    return java_command(_MAIN[tool], KAFKA)


@dataclass(frozen=True)
class ToolResult:
    """The result of one run of a tool."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class KafkaTools:
    """Runs tools: ``tools("topics", "--bootstrap-server", ..., "--list")``. Closing ends the Java process."""

    def __init__(self) -> None:
        classes = compile_java([_SOURCE], KAFKA)
        self._process = subprocess.Popen(
            java_command("ToolServer", KAFKA, classes=classes), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __call__(self, tool: str, *arguments: str, stdin: str = "") -> ToolResult:
        """Run a tool to its end, whatever its exit status."""
        strings = [text.encode() for text in (_MAIN[tool], stdin, *arguments)]
        request = b"".join(struct.pack(">i", len(text)) + text for text in strings)
        assert self._process.stdin is not None
        self._process.stdin.write(struct.pack(">i", len(strings)) + request)
        self._process.stdin.flush()
        (status,) = struct.unpack(">i", self._read(4))
        return ToolResult(status, *(self._read(struct.unpack(">i", self._read(4))[0]).decode() for _ in range(2)))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) != size:
            raise RuntimeError("the Java process of Kafka's tools ended")
        return data
