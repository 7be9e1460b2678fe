"""Defaults that differ from Apache Kafka's, each with its reason. The README's list is made from this table."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.setting import REQUIRED


class Difference(NamedTuple):
    value: Any
    reason: str


_ONE_MACHINE: Final = "one machine is the usual home; more brokers can be asked for"

OUR_DEFAULTS: Final[dict[str, Difference]] = {
    "node.id": Difference(1, "no file is needed to start"),
    "process.roles": Difference(("broker", "controller"), "the controller lives in the same process"),
    "controller.listener.names": Difference(("CONTROLLER",), "the controller needs no listener of its own"),
    "group.initial.rebalance.delay.ms": Difference(0, "a test should not wait three seconds for its first record"),
    "group.streams.initial.rebalance.delay.ms": Difference(0, "as for other groups"),
    "offsets.topic.replication.factor": Difference(1, _ONE_MACHINE),
    "transaction.state.log.replication.factor": Difference(1, _ONE_MACHINE),
    "transaction.state.log.min.isr": Difference(1, _ONE_MACHINE),
    "share.coordinator.state.topic.replication.factor": Difference(1, _ONE_MACHINE),
    "share.coordinator.state.topic.min.isr": Difference(1, _ONE_MACHINE),
}


def default_value(name: str) -> Any:
    """The value of a broker setting that nobody set: ours where it differs from Kafka's, None for "not set"."""
    ours = OUR_DEFAULTS.get(name)
    if ours is not None:
        return ours.value
    setting = BROKER_SETTINGS.get(name)
    return None if setting is None or setting.default is REQUIRED else setting.default
