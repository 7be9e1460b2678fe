"""The table of Kafka's commands and their modules."""

from __future__ import annotations

import importlib
from typing import Final, Protocol, cast

from pykbroker.container.tools.printing import print_error

#: Names as in Confluent's image; Apache Kafka's end with ``.sh``.
TOOLS: Final = {
    "kafka-acls": "acls",
    "kafka-broker-api-versions": "broker_api_versions",
    "kafka-client-metrics": "client_metrics",
    "kafka-cluster": "cluster",
    "kafka-configs": "configs",
    "kafka-console-consumer": "console_consumer",
    "kafka-console-producer": "console_producer",
    "kafka-consumer-groups": "consumer_groups",
    "kafka-consumer-perf-test": "consumer_perf_test",
    "kafka-delegation-tokens": "delegation_tokens",
    "kafka-delete-records": "delete_records",
    "kafka-dump-log": "dump_log",
    "kafka-features": "features",
    "kafka-get-offsets": "get_offsets",
    "kafka-groups": "groups",
    "kafka-leader-election": "leader_election",
    "kafka-log-dirs": "log_dirs",
    "kafka-metadata-quorum": "metadata_quorum",
    "kafka-producer-perf-test": "producer_perf_test",
    "kafka-reassign-partitions": "reassign_partitions",
    "kafka-run-class": "run_class",
    "kafka-server-start": "server_start",
    "kafka-server-stop": "server_stop",
    "kafka-share-groups": "share_groups",
    "kafka-storage": "storage",
    "kafka-streams-groups": "streams_groups",
    "kafka-topics": "topics",
    "kafka-transactions": "transactions",
    "kafka-verifiable-consumer": "verifiable_consumer",
    "kafka-verifiable-producer": "verifiable_producer",
}


class Tool(Protocol):
    """A module of this package."""

    def main(self, words: list[str]) -> None:
        """Raises ToolError, and the client's errors."""


def main(name: str, words: list[str]) -> int:
    """Run a command; returns the exit status of Kafka's commands: 0 done, 1 refused or failed."""
    from pykbroker.container.tools.running import run

    name = name.removesuffix(".sh")
    module = TOOLS.get(name)
    if module is None:
        from pykbroker.container.tools.unsupported import INSTEAD

        instead = f"instead: {INSTEAD[name]}" if name in INSTEAD else f"there are {', '.join(TOOLS)}"
        print_error(f"There is no command {name}; {instead}.")
        return 1
    tool = cast("Tool", importlib.import_module(f"pykbroker.container.tools.{module}"))
    return run(name, tool.main, words)
