"""The JSON plans of ``kafka-reassign-partitions``: the wanted replicas of partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.json_plans import check_distinct, entries, partition_of, text
from pykbroker.container.tools.running import ToolError
from pykbroker.runtime.escaping import escaped_json

ANY_LOG_DIR: Final = "any"
Replica = tuple[int, TopicPartition]
"""The id of a broker, and what it has a replica of."""


@dataclass
class ReassignmentPlan:
    """The replicas of each partition, the preferred leader first, and the log directories of replicas, where given."""

    brokers: dict[TopicPartition, list[int]] = field(default_factory=dict)
    log_dirs: dict[Replica, str] = field(default_factory=dict)


def read_plan(path: str) -> ReassignmentPlan:
    """Read a plan. Raises ToolError and OSError."""
    plan = ReassignmentPlan()
    found = entries(path)
    check_distinct(map(partition_of, found), "Partition reassignment contains duplicate topic partitions")
    for entry in found:
        partition = partition_of(entry)
        brokers = _list_of(entry, "replicas", int)
        places = _list_of(entry, "log_dirs", str) if "log_dirs" in entry else [ANY_LOG_DIR] * len(brokers)
        if len(places) != len(brokers):
            raise ToolError(
                f"Size of replicas list [{_listed(brokers)}] is different from size of log dirs list [{_listed(places)}] "
                f"for partition {partition}"
            )
        plan.brokers[partition] = brokers
        plan.log_dirs |= {
            (node, partition): place for node, place in zip(brokers, places, strict=True) if place != ANY_LOG_DIR
        }
    return plan


def check_plan(plan: ReassignmentPlan) -> None:
    """Raises ToolError for a plan that is invalid."""
    if not plan.brokers:
        raise ToolError("Partition reassignment list cannot be empty")
    for partition, brokers in plan.brokers.items():
        if not brokers:
            raise ToolError("Partition replica list cannot be empty")
        if twice := sorted({node for node in brokers if brokers.count(node) > 1}):
            raise ToolError(
                f"Partition replica lists may not contain duplicate entries: {partition} contains multiple entries for "
                f"{_listed(twice)}"
            )


def read_topics(path: str) -> list[str]:
    """Return the topics of ``--topics-to-move-json-file``. Raises ToolError and OSError."""
    names = [text(entry, "topic") for entry in entries(path, "topics")]
    check_distinct(names, "List of topics to reassign contains duplicate entries")
    return names


def as_json(plan: ReassignmentPlan) -> str:
    """Return the plan as JSON; unknown log directories are "any"."""
    partitions = [
        {
            "topic": partition.topic,
            "partition": partition.number,
            "replicas": replicas,
            "log_dirs": [plan.log_dirs.get((node, partition), ANY_LOG_DIR) for node in replicas],
        }
        for partition, replicas in sorted(plan.brokers.items())
    ]
    return escaped_json({"version": 1, "partitions": partitions}, separators=(",", ":"))


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _list_of(entry: dict[str, Any], name: str, kind: type) -> list[Any]:
    values = entry.get(name)
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise ToolError(f'{json.dumps(entry)}: "{name}" is missing, or no list of {kind.__name__}.')
    return values
