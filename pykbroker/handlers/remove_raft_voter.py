"""RemoveRaftVoter (key 81, version 0): remove a voter from the controllers' quorum (KIP-853).

The quorum is this process alone, whose voter cannot be removed: everything is refused, as by a quorum of one of Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.raft_voters import check_dynamic, check_voter, key, keys
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.remove_raft_voter import RemoveRaftVoterResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.metadata_quorum import QuorumDescription
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.remove_raft_voter import RemoveRaftVoterRequest


def handle(broker: Broker, ctx: RequestContext, request: RemoveRaftVoterRequest) -> Deferred[RemoveRaftVoterResponse]:
    check_voter(broker, request, "Remove")
    check_dynamic(broker, "removing")
    return broker.controller.describe_quorum().map(lambda quorum: _refused(request, quorum))


def _refused(request: RemoveRaftVoterRequest, quorum: QuorumDescription) -> RemoveRaftVoterResponse:
    asked = key(request.voter_id, request.voter_directory_id)
    text = f"Cannot remove voter {asked} from the set of voters {keys(quorum)}"
    return RemoveRaftVoterResponse(error_code=ErrorCode.VOTER_NOT_FOUND, error_message=text)


def failed(request: RemoveRaftVoterRequest, version: int, error: KafkaError) -> RemoveRaftVoterResponse:
    """The request is refused."""
    del request, version
    return RemoveRaftVoterResponse(error_code=error.code, error_message=error.message)
