"""The controller quorum, in which this process is the only voter.

It has the files and records of Apache Kafka 4.4.0, so that either broker can go on with the other's metadata log: the
``quorum-state`` file (KIP-595), the LeaderChange record that opens each epoch and, if the directory was formatted with
dynamic voters (KIP-853), the kraft.version and voters records.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import replace_file
from pykbroker.wire.control_records import ControlRecordType
from pykbroker.wire.internal.leader_change_message import LeaderChangeMessage, Voter
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import ZERO_UUID, uuid_to_str

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk
    from pykbroker.wire.internal.voters_record import VotersRecord

QUORUM_STATE = "quorum-state"
#: kraft.version with dynamic voters (KIP-853).
_DYNAMIC = 1


class ForeignQuorumError(RuntimeError):
    """The metadata log belongs to another controller quorum, or to one with several voters."""


@dataclass(slots=True, eq=False, repr=False)
class Quorum:
    """A quorum whose only voter is ``node_id``. ``voters`` is None for static voters (kraft.version 0). ``own_directory_id`` is
    the directory.id of the log directory that holds the metadata log.
    """

    node_id: int
    voters: VotersRecord | None = None
    kraft_version: int = 0
    own_directory_id: bytes = ZERO_UUID

    def note(self, kind: ControlRecordType, value: bytes) -> None:
        """Apply a control record of the log or a snapshot.

        Raises ForeignQuorumError if another node is a voter.
        """
        if kind is ControlRecordType.KRAFT_VERSION:
            from pykbroker.wire.internal.kraft_version_record import KRaftVersionRecord

            self.kraft_version = KRaftVersionRecord.decode(value, 0, 0)[0].kraft_version
        elif kind is ControlRecordType.KRAFT_VOTERS:
            from pykbroker.wire.internal.voters_record import VotersRecord

            self.voters = VotersRecord.decode(value, 0, 0)[0]
            self._check({voter.voter_id for voter in self.voters.voters})
        elif kind is ControlRecordType.LEADER_CHANGE:
            self._check({voter.voter_id for voter in LeaderChangeMessage.decode(value, 0, 0)[0].voters})

    def as_dynamic_voter(self) -> VotersRecord:
        """A voters record of this node alone. It has no endpoints, since the controller has no listener."""
        from pykbroker.wire.internal.voters_record import KRaftVersionFeature, Voter, VotersRecord

        versions = KRaftVersionFeature(min_supported_version=0, max_supported_version=_DYNAMIC)
        voter = Voter(self.node_id, self.own_directory_id, kraft_version_feature=versions)
        return VotersRecord(voters=[voter])

    def adopt(self, voters: VotersRecord) -> None:
        """Go on with dynamic voters, which the log has now."""
        self.voters, self.kraft_version = voters, _DYNAMIC

    @property
    def directory_id(self) -> bytes:
        """The directory id of the voter; zeros for static voters."""
        return ZERO_UUID if self.voters is None else self.voters.voters[0].voter_directory_id

    def leader_change(self) -> tuple[ControlRecordType, Message, int]:
        """The control record that opens an epoch: (type, record, version). As in Kafka, version 0 with dynamic voters too."""
        voters = [Voter(voter_id=self.node_id)]
        message = LeaderChangeMessage(leader_id=self.node_id, voters=voters, granting_voters=voters)
        return ControlRecordType.LEADER_CHANGE, message, 0

    def voter_controls(self) -> list[tuple[ControlRecordType, Message, int]]:
        """The control records of dynamic voters, for the first epoch and for every snapshot; none with static voters."""
        return [] if self.voters is None else voter_controls(self.voters, self.kraft_version)

    def write_state(self, disk: Disk, directory: str, epoch: int) -> None:
        """Write ``quorum-state``: this node is the leader in ``epoch``. Later epochs are never lower."""
        replace_file(disk, posixpath.join(directory, QUORUM_STATE), self.encode_state(epoch))

    def encode_state(self, epoch: int) -> bytes:
        """The ``quorum-state`` file, in the version for the quorum's kraft.version."""
        return encode_state(self.node_id, epoch, None if self.voters is not None else [self.node_id])

    def _check(self, voters: set[int]) -> None:
        if voters != {self.node_id}:
            names = ", ".join(map(str, sorted(voters)))
            raise ForeignQuorumError(
                f"The metadata log belongs to a controller quorum of the nodes {names}, but this is node {self.node_id}. "
                "The controller in this broker must be the only voter of its quorum."
            )


def sets_voters(record: object) -> bool:
    """Whether a record is a VotersRecord: a control record, which alone has no number among those of the metadata."""
    return not hasattr(record, "API_KEY")


def voter_controls(voters: VotersRecord, kraft_version: int = _DYNAMIC) -> list[tuple[ControlRecordType, Message, int]]:
    """The control records that say so."""
    from pykbroker.wire.internal.kraft_version_record import KRaftVersionRecord

    version = KRaftVersionRecord(kraft_version=kraft_version)
    return [(ControlRecordType.KRAFT_VERSION, version, 0), (ControlRecordType.KRAFT_VOTERS, voters, 0)]


def encode_state(leader_id: int, epoch: int, static_voters: Sequence[int] | None) -> bytes:
    """The ``quorum-state`` file of a node that votes for nobody: version 0 with static voters, else version 1."""
    state: dict[str, object] = {"leaderId": leader_id, "leaderEpoch": epoch, "votedId": -1}
    if static_voters is None:
        state["votedDirectoryId"] = uuid_to_str(ZERO_UUID)
        state["data_version"] = 1
    else:
        voters = [{"voterId": each} for each in static_voters]
        state = {"clusterId": "", **state, "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
    return json.dumps(state, separators=(",", ":")).encode()


def read_epoch(disk: Disk, directory: str) -> int:
    """The leader epoch in ``quorum-state``; 0 if the file is missing or unreadable."""
    path = posixpath.join(directory, QUORUM_STATE)
    if not disk.exists(path):
        return 0
    try:
        return max(int(json.loads(disk.read(path))["leaderEpoch"]), 0)
    except (ValueError, KeyError, TypeError):
        return 0
