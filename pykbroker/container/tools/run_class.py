"""``kafka-run-class``: the command that a class of Kafka's is known by, as scripts and tutorials name it."""

from __future__ import annotations

import sys
from typing import Final

from pykbroker.container.tools.running import Options, ToolError
from pykbroker.container.tools.table import main as run_tool

_PACKAGES: Final = ("kafka.", "org.apache.kafka.")
#: The last part of the name: packages have changed with releases.
COMMANDS: Final = {
    "AclCommand": "kafka-acls",
    "BrokerApiVersionsCommand": "kafka-broker-api-versions",
    "ClientMetricsCommand": "kafka-client-metrics",
    "ClusterTool": "kafka-cluster",
    "ConfigCommand": "kafka-configs",
    "ConsoleConsumer": "kafka-console-consumer",
    "ConsoleProducer": "kafka-console-producer",
    "ConsumerGroupCommand": "kafka-consumer-groups",
    "ConsumerPerformance": "kafka-consumer-perf-test",
    "DelegationTokenCommand": "kafka-delegation-tokens",
    "DeleteRecordsCommand": "kafka-delete-records",
    "DumpLogSegments": "kafka-dump-log",
    "FeatureCommand": "kafka-features",
    "GetOffsetShell": "kafka-get-offsets",
    "GroupsCommand": "kafka-groups",
    "Kafka": "kafka-server-start",
    "LeaderElectionCommand": "kafka-leader-election",
    "LogDirsCommand": "kafka-log-dirs",
    "MetadataQuorumCommand": "kafka-metadata-quorum",
    "ProducerPerformance": "kafka-producer-perf-test",
    "ReassignPartitionsCommand": "kafka-reassign-partitions",
    "ShareGroupCommand": "kafka-share-groups",
    "StorageTool": "kafka-storage",
    "StreamsGroupCommand": "kafka-streams-groups",
    "TopicCommand": "kafka-topics",
    "TransactionsCommand": "kafka-transactions",
    "VerifiableConsumer": "kafka-verifiable-consumer",
    "VerifiableProducer": "kafka-verifiable-producer",
}
#: Classes that have no command here, and what does their work.
_INSTEAD: Final = {
    "JmxTool": "a broker's metrics are at its HTTP address, /metrics (docs/metrics.md); there is no JMX",
}
#: What the script takes before the name of the class.
_FLAGS: Final = {"-daemon": 1, "-name": 2, "-loggc": 1}


def main(words: list[str]) -> None:
    if words[:1] in ([], ["--help"], ["-h"]):
        Options("kafka-run-class", f"CLASS WORDS...: the command of {', '.join(COMMANDS)}.").parse_args(words or ["-h"])
    while words and words[0] in _FLAGS:
        words = words[_FLAGS[words[0]] :]
    name = words[0] if words else ""
    last = name.rpartition(".")[2]
    if not name.startswith(_PACKAGES) or last not in COMMANDS:
        instead = _INSTEAD.get(last, f"of Kafka's classes its commands stand for {', '.join(COMMANDS)}")
        raise ToolError(f"there is no Java in this image, so {name or 'no class'} cannot run: {instead}.")
    sys.exit(run_tool(COMMANDS[last], words[1:]))
