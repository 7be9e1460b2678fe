"""Defaults that differ from Apache Kafka's, each with its reason. docs/compatibility.md has the table that
``python -m pykbroker.config.differences`` prints.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.setting import REQUIRED, value_text


class DefaultDifference(NamedTuple):
    value: Any
    reason: str


_ONE_MACHINE: Final = "one machine is the usual home; more brokers can be asked for"

OUR_DEFAULTS: Final[dict[str, DefaultDifference]] = {
    "node.id": DefaultDifference(1, "no file is needed to start"),
    "process.roles": DefaultDifference(
        ("broker", "controller"), "the controller lives in the same process, unless it is set to [broker](clusters.md)"
    ),
    "controller.listener.names": DefaultDifference(("CONTROLLER",), "the controller needs no listener of its own"),
    "group.initial.rebalance.delay.ms": DefaultDifference(
        150,
        "a test should not wait three seconds for its first record; with no wait, kafka-python may miss its first assignment",
    ),
    "group.streams.initial.rebalance.delay.ms": DefaultDifference(150, "as for other groups"),
    "metadata.log.max.record.bytes.between.snapshots": DefaultDifference(
        1024**2, "a start should not read 20 MB of metadata"
    ),
    "offsets.topic.replication.factor": DefaultDifference(1, _ONE_MACHINE),
    "transaction.state.log.replication.factor": DefaultDifference(1, _ONE_MACHINE),
    "transaction.state.log.min.isr": DefaultDifference(1, _ONE_MACHINE),
    "share.coordinator.state.topic.replication.factor": DefaultDifference(1, _ONE_MACHINE),
    "share.coordinator.state.topic.min.isr": DefaultDifference(1, _ONE_MACHINE),
}


def table() -> str:
    """OUR_DEFAULTS as the Markdown table of docs/compatibility.md."""
    lines = ["| setting | Kafka | pykbroker | why |", "|---|---|---|---|"]
    for name, ours in OUR_DEFAULTS.items():
        kafkas = BROKER_SETTINGS[name].default
        told = "(none: it must be set)" if kafkas is REQUIRED else value_text(kafkas)
        lines.append(f"| `{name}` | {told} | {value_text(ours.value)} | {ours.reason} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201
