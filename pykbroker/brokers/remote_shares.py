"""A share coordinator at another broker, asked as one of this process is: by the requests about its state (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.brokers.remote_peers import the_only
from pykbroker.coordination.share.state import ShareState, StateBatch
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages import delete_share_group_state as delete
from pykbroker.wire.messages import initialize_share_group_state as initialize
from pykbroker.wire.messages import read_share_group_state as read
from pykbroker.wire.messages import read_share_group_state_summary as summary
from pykbroker.wire.messages import write_share_group_state as write

if TYPE_CHECKING:
    from pykbroker.brokers.replica_fetcher import Peers
    from pykbroker.coordination.share.state import SharePartitionKey
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.message import Message

_LOWEST: Final = 0
#: For who only looks, and leads nothing.
_NO_LEADER_EPOCH: Final = -1


class RemoteShareCoordinator:
    """See the module, and ``ShareStatePort``. A broker that does not answer is COORDINATOR_NOT_AVAILABLE: who asks asks again."""

    def __init__(self, peers: Peers, node_id: int) -> None:
        self._peers = peers
        self._node_id = node_id

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Deferred[None]:
        """See ``ShareStatePort``."""
        asked = initialize.InitializeStateData(
            key.topic_id, [initialize.PartitionData(key.partition, state_epoch, start_offset)]
        )
        return self._ask(initialize.InitializeShareGroupStateRequest(key.group_id, [asked])).map(_nothing)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Deferred[ShareState]:
        """See ``ShareStatePort``."""
        asked = read.ReadStateData(key.topic_id, [read.PartitionData(key.partition, leader_epoch)])
        return self._ask(read.ReadShareGroupStateRequest(key.group_id, [asked])).map(
            lambda found: ShareState(
                state_epoch=found.state_epoch,
                leader_epoch=leader_epoch,
                start_offset=found.start_offset,
                batches=tuple(
                    StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
                    for each in found.state_batches
                ),
            )
        )

    def summary(self, key: SharePartitionKey) -> Deferred[ShareState]:
        """See ``ShareStatePort``."""
        asked = summary.ReadStateSummaryData(key.topic_id, [summary.PartitionData(key.partition, _NO_LEADER_EPOCH)])
        return self._ask(summary.ReadShareGroupStateSummaryRequest(key.group_id, [asked])).map(
            lambda found: ShareState(
                state_epoch=found.state_epoch,
                leader_epoch=found.leader_epoch,
                start_offset=found.start_offset,
                delivery_complete_count=found.delivery_complete_count,
            )
        )

    def write(self, key: SharePartitionKey, change: ShareState) -> Deferred[None]:
        """See ``ShareStatePort``."""
        partition = write.PartitionData(
            key.partition,
            change.state_epoch,
            change.leader_epoch,
            change.start_offset,
            change.delivery_complete_count,
            [write.StateBatch(*each) for each in change.batches],
        )
        asked = write.WriteStateData(key.topic_id, [partition])
        return self._ask(write.WriteShareGroupStateRequest(key.group_id, [asked])).map(_nothing)

    def delete(self, key: SharePartitionKey) -> Deferred[None]:
        """See ``ShareStatePort``."""
        asked = delete.DeleteStateData(key.topic_id, [delete.PartitionData(key.partition)])
        return self._ask(delete.DeleteShareGroupStateRequest(key.group_id, [asked])).map(_nothing)

    def _ask(self, request: Message) -> Deferred[Any]:
        """What is answered for the one partition of a request."""
        return self._peers.ask(self._node_id, request, _LOWEST).fold(_result)


def _result(done: Deferred[Any]) -> Any:
    try:
        return the_only(each for topic in done.value.results for each in topic.partitions)
    except KafkaError as error:
        if error.code is ErrorCode.NETWORK_EXCEPTION:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from None
        raise


def _nothing(_: Any) -> None:
    pass
