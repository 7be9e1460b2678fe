"""The quorum of the metadata log, as the controller describes it (KIP-595, KIP-853)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pykbroker.controller.commits import RecordLog
    from pykbroker.metadata.image import MetadataImage


class QuorumReplica(NamedTuple):
    """A voter or an observer; the times are when it last fetched, and when it last was at the end of the log."""

    node_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class QuorumDescription(NamedTuple):
    """The leader, what of its log is committed, and the nodes that have the log."""

    leader_id: int
    leader_epoch: int
    log_start_offset: int
    high_watermark: int
    voters: Sequence[QuorumReplica]
    observers: Sequence[QuorumReplica]


def described(log: RecordLog, image: MetadataImage, now_ms: int) -> QuorumDescription:
    """A quorum of this process alone: the active brokers are observers, and since all share one image, none ever lags."""
    quorum, end = log.quorum, image.offset + 1
    return QuorumDescription(
        quorum.node_id,
        log.epoch,
        log.start_offset,
        end,
        [QuorumReplica(quorum.node_id, quorum.directory_id, end, now_ms, now_ms)],
        [
            QuorumReplica(known.id, known.log_dirs[0], end, now_ms, now_ms)
            for known in image.active_brokers()
            if known.id != quorum.node_id
        ],
    )
