"""Computes the targets of large groups in a thread: the effect of a heartbeat that needs one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.targets import Assigning, computed, target_records
from pykbroker.coordination.outcome import Outcome
from pykbroker.runtime.waits import attempt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pykbroker.coordination.groups.consumer.member import Target
    from pykbroker.coordination.groups.group import Group
    from pykbroker.coordination.groups.kind import EffectContext
    from pykbroker.coordination.shards import Loaded
    from pykbroker.runtime.waits import Deferred

log = logging.getLogger(__name__)


class TargetComputing:
    """See the module; of one coordinator."""

    def __init__(self, coordinator: EffectContext) -> None:
        self._coordinator = coordinator

    def __call__(self, loaded: Loaded[Any], assigning: Assigning) -> None:
        """Compute the target; one of a group at a time, and the next heartbeat asks for the next one."""
        group = loaded.shard.groups.get(assigning.group_id)
        if not isinstance(group, ConsumerGroup) or group.is_assigning:
            return
        group.is_assigning = True

        def over(done: Deferred[dict[str, Target]]) -> None:
            group.is_assigning = False
            if done.error is not None:
                log.warning(
                    "Group %s: failed to compute a new target assignment for epoch %d: %s",
                    *(assigning.group_id, assigning.epoch, done.error),
                )
                return
            self._coordinator.go_on(
                loaded, assigning.group_id, lambda present: _adopted(present, group, assigning.epoch, done.value)
            )

        work = attempt(self._coordinator.host.runtime.offload_read, computed, assigning)
        work.fold(over).or_log("assigning partitions in group %s", assigning.group_id)


def _adopted(present: Group | None, group: ConsumerGroup, epoch: int, given: Mapping[str, Target]) -> Outcome:
    """The records of a target, unless the group has ended (there may be another of its name, which began anew with its epochs) or has it
    already; members that are gone get none.
    """
    if present is not group or epoch <= group.target_epoch:
        return Outcome()
    found = {member_id: target for member_id, target in given.items() if member_id in group.members}
    return Outcome(target_records(group, epoch, found))
