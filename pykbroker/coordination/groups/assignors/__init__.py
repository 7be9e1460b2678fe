"""The assignors that the coordinator runs itself (KIP-848): who in a consumer group gets which partitions.

An assignor is a pure function of a ``GroupSpec``. What it decides is what Apache Kafka 4.4.0's assignor of the same
name decides, except where that follows the order of a Java hash table: there, topics and partitions go in ascending
order, and members in the order of ``GroupSpec.members``.
"""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.coordination.groups.assignors.range import assign_range
from pykbroker.coordination.groups.assignors.spec import Assignment, GroupSpec
from pykbroker.coordination.groups.assignors.uniform import assign_uniform

#: By the name that group.consumer.assignors and ConsumerGroupHeartbeat call them; the first is Kafka's default.
#: Each returns the partitions, ascending, of every member of the spec, and raises AssignmentFailed.
ASSIGNORS: dict[str, Callable[[GroupSpec], dict[str, Assignment]]] = {
    "uniform": assign_uniform,
    "range": assign_range,
}
