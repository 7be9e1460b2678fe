"""AddRaftVoter (key 80), versions 0 to 1: add a voter to the controllers' quorum (KIP-853).

The quorum is this process alone, and stays so: what Kafka refuses is refused with its codes and words, and of a voter that could be
added it is said at once that it is not ready, where Kafka would try to reach it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from pykbroker.handlers.raft_voters import check_dynamic, check_voter, key, keys
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.add_raft_voter import AddRaftVoterResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.metadata_quorum import QuorumDescription
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.add_raft_voter import AddRaftVoterRequest

_LISTENERS = "controller.listener.names"
#: Listeners of a request that its refusal names; of more than these it is cut off.
_MOST_SHOWN = 1000


def handle(broker: Broker, ctx: RequestContext, request: AddRaftVoterRequest) -> Deferred[AddRaftVoterResponse]:
    check_voter(broker, request, "Add")
    listener = broker.config[_LISTENERS][0]
    if listener not in map(attrgetter("name"), request.listeners):
        shown = request.listeners[:_MOST_SHOWN]
        named = ", ".join(f"ListenerName({e.name})={e.host}/<unresolved>:{e.port}" for e in shown)
        text = (
            f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{named}}})) for the default listener "
            f"ListenerName({listener})"
        )
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    check_dynamic(broker, "adding")
    return broker.controller.describe_quorum().map(lambda quorum: _refused(request, quorum))


def _refused(request: AddRaftVoterRequest, quorum: QuorumDescription) -> AddRaftVoterResponse:
    asked = key(request.voter_id, request.voter_directory_id)
    if any(voter.node_id == request.voter_id for voter in quorum.voters):
        text = f"The voter id for {asked} is already part of the set of voters {keys(quorum)}."
        return AddRaftVoterResponse(error_code=ErrorCode.DUPLICATE_VOTER, error_message=text)
    text = f"New voter {asked} is not ready to receive requests"
    return AddRaftVoterResponse(error_code=ErrorCode.REQUEST_TIMED_OUT, error_message=text)


def failed(request: AddRaftVoterRequest, version: int, error: KafkaError) -> AddRaftVoterResponse:
    """The request is refused."""
    del request, version
    return AddRaftVoterResponse(error_code=error.code, error_message=error.message)
