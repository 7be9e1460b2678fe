"""One member of a streams group (KIP-1071), as its records describe it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from pykbroker.coordination.groups.streams.tasks import OWNS_NOTHING, OwnedTasks


class StreamsMemberState(Enum):
    """The state of a member's reconciliation. Values are those of the records."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127


def state_of(value: int) -> StreamsMemberState:
    """The state in a record; UNKNOWN for one of a later release."""
    return StreamsMemberState(value) if value in (1, 2, 3) else StreamsMemberState.UNKNOWN


@dataclass(slots=True)
class StreamsMember:
    """A thread of a Streams application. Replaced when it changes, never altered."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    #: With a slash before the address, as in Kafka.
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    #: The instance of the application: its threads share one folder of state.
    process_id: str = ""
    #: Host and port for interactive queries.
    user_endpoint: tuple[str, int] | None = None
    client_tags: dict[str, str] = field(default_factory=dict)
    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    assigned: OwnedTasks = OWNS_NOTHING
    #: Tasks that it was told to give up and may still have.
    revoking: OwnedTasks = OWNS_NOTHING

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether it has exactly the target assignment of this epoch."""
        return self.state is StreamsMemberState.STABLE and self.epoch == epoch
