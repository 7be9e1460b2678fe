"""What operators look for in changes of partitions: one log line each, and the number of unclean elections."""

from __future__ import annotations

import logging
from typing import Final

from pykbroker.controller.partition_changes import RECOVERED, RECOVERING
from pykbroker.metadata.delta import MetadataDelta, PartitionChange
from pykbroker.metadata.image import NO_LEADER, MetadataImage

log = logging.getLogger(__name__)

#: Of a change with more partitions, which a broker that comes or goes causes, only those are told that are offline or unclean.
_NAMED_AT_ONCE: Final = 20
#: Who led last has every record, unless its disk lost some: a snapshot that is restored has lost none.
_RETURNED: Final = (
    "again, who led last; no replica in sync was shut down cleanly, and what its disk has not kept is lost"
)
_UNCLEAN: Final = "by an unclean election: what it lacks is lost"


class PartitionLog:
    """A subscriber of the metadata."""

    def __init__(self) -> None:
        #: Elections of leaders that may lack records, since the start.
        self.unclean_elections = 0

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Tell of the partitions of a change."""
        del image
        brief = len(delta.partitions) > _NAMED_AT_ONCE
        for change in delta.partitions:
            if change.before is not None:
                self._tell(change, brief=brief)
        if brief:
            log.info("%d partitions have changed", len(delta.partitions))

    def _tell(self, change: PartitionChange, *, brief: bool) -> None:
        before, now = change.before, change.after
        assert before is not None
        name = f"{change.topic.name}-{now.index}"
        if (before.leader_recovery_state, now.leader_recovery_state) == (RECOVERED, RECOVERING):
            self.unclean_elections += 1
            last = before.last_known_elr == [now.leader]
            log.warning(
                "%s has the leader %d %s (leader epoch %d)",
                name,
                now.leader,
                _RETURNED if last else _UNCLEAN,
                now.leader_epoch,
            )
        elif now.leader != before.leader and now.leader == NO_LEADER:
            log.warning("%s has no leader: of its replicas %s none may lead", name, now.replicas)
        elif now.leader != before.leader and not brief:
            log.info(
                "%s has the leader %d after %d (leader epoch %d)", name, now.leader, before.leader, now.leader_epoch
            )
        if now.isr != before.isr and not brief:
            log.info("%s has the ISR %s after %s", name, now.isr, before.isr)
