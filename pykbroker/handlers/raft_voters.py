"""AddRaftVoter and RemoveRaftVoter (KIP-853) on a quorum whose only voter is this process: what they refuse alike.

Rules and messages: KafkaRaftClient of Kafka 4.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import ZERO_UUID, uuid_to_str

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.metadata_quorum import QuorumDescription
    from pykbroker.wire.messages.add_raft_voter import AddRaftVoterRequest
    from pykbroker.wire.messages.remove_raft_voter import RemoveRaftVoterRequest


def check_voter(broker: Broker, request: AddRaftVoterRequest | RemoveRaftVoterRequest, verb: str) -> None:
    """Raises KafkaError INCONSISTENT_CLUSTER_ID for another cluster, INVALID_REQUEST for what is no voter."""
    own = broker.metadata.image.cluster_id
    if request.cluster_id is not None and request.cluster_id != own:
        text = f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{own}"'
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, text)
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{verb} voter request didn't include a valid voter")


def check_dynamic(broker: Broker, verb: str) -> None:
    """Raises KafkaError UNSUPPORTED_VERSION where voters are static (kraft.version 0)."""
    level = broker.metadata.image.kraft_version
    if level < 1:
        text = f"Cluster doesn't support {verb} voter because the kraft.version feature is {level}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)


def key(node_id: int, directory_id: bytes) -> str:
    """A replica of the metadata log, as messages name it."""
    return f"ReplicaKey(id={node_id}, directoryId={uuid_to_str(directory_id)})"


def keys(quorum: QuorumDescription) -> str:
    """The voters of the quorum, as messages name them."""
    return f"[{', '.join(key(voter.node_id, voter.directory_id) for voter in quorum.voters)}]"
