"""Share sessions (KIP-932): which partitions each member of a share group reads from a broker, and the epoch of its next request.

A session belongs to a member of a group and to its connection. It begins with epoch 0, each request has the next one, and it
ends with epoch -1 or with the connection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.security.context import tell_when_lost
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Steps
    from pykbroker.security.context import Peer

#: A topic id and an index.
TopicIdPartition = tuple[bytes, int]

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_LAST_EPOCH = 2**31 - 1
#: Partitions of a session: no client has to exist for what it names.
MOST_PARTITIONS = 20_000
#: Partitions of all sessions: a stranger begins as many as there are slots, and what they keep takes some 200 bytes each.
MOST_IN_ALL = 1_000_000
#: The weight of forgetting a session (``runtime/slices.py``).
_WEIGHT = 1


class ShareMemberKey(NamedTuple):
    """A member of a share group."""

    group_id: str
    member_id: str


class ShareSession:
    """One session; ``partitions`` is an ordered set."""

    __slots__ = ("connection", "epoch", "has_ended", "key", "partitions", "waiting")

    def __init__(self, key: ShareMemberKey, connection: Peer | None) -> None:
        self.key = key
        self.connection = connection
        #: The epoch of the next request.
        self.epoch = 1
        #: Nothing is acquired for it any more.
        self.has_ended = False
        self.partitions: dict[TopicIdPartition, None] = {}
        #: Its fetches that wait, and are told of its end; an ordered set.
        self.waiting: dict[Callable[[], None], None] = {}

    def in_turn(self) -> list[TopicIdPartition]:
        """The partitions, each request beginning with another one, so that none is starved."""
        everything = list(self.partitions)
        begin = self.epoch % len(everything) if everything else 0
        return everything[begin:] + everything[:begin]


class ShareSessions:
    """The sessions of one broker. ``ended`` is called for each that ends."""

    def __init__(self, slots: int, ended: Callable[[ShareSession], None]) -> None:
        self._slots = slots
        self._ended = ended
        self._sessions: dict[ShareMemberKey, ShareSession] = {}
        self._by_connection: dict[Peer, dict[ShareMemberKey, None]] = {}
        #: The partitions of all sessions.
        self._partitions = 0
        #: The number of sessions of each group.
        self._groups: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._sessions)

    def of_group(self, group_id: str) -> bool:
        """Whether any member of a group has a session."""
        return group_id in self._groups

    def find(self, key: ShareMemberKey) -> ShareSession | None:
        """The session of a member, to look at."""
        return self._sessions.get(key)

    def begin(self, key: ShareMemberKey, connection: Peer | None) -> ShareSession:
        """Begin a session, in place of one that the member has. Raises KafkaError SHARE_SESSION_LIMIT_REACHED."""
        self._forget(key)
        if len(self._sessions) >= self._slots:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, connection)
        self._groups[key.group_id] += 1
        if connection is not None:
            keys = self._by_connection.setdefault(connection, {})
            keys[key] = None
            tell_when_lost(connection, self, partial(self._connection_lost, connection))
        return session

    def next(self, key: ShareMemberKey, epoch: int) -> ShareSession:
        """The session for a further request, or for the last one (epoch -1).

        Raises KafkaError SHARE_SESSION_NOT_FOUND or INVALID_SHARE_SESSION_EPOCH.
        """
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if session.epoch == _LAST_EPOCH else session.epoch + 1
        return session

    def add(self, session: ShareSession, where: TopicIdPartition) -> None:
        """Add a partition to a session. Raises KafkaError SHARE_SESSION_LIMIT_REACHED if there are too many; then it has ended."""
        if session.has_ended or where in session.partitions:
            return
        if len(session.partitions) >= MOST_PARTITIONS or self._partitions >= MOST_IN_ALL:
            self.end(session)
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session.partitions[where] = None
        self._partitions += 1

    def remove(self, session: ShareSession, where: TopicIdPartition) -> None:
        """Take a partition out of a session, if it is there."""
        if not session.has_ended and where in session.partitions:
            del session.partitions[where]
            self._partitions -= 1

    def end(self, session: ShareSession) -> None:
        """End a session."""
        if self._sessions.get(session.key) is session:
            self._forget(session.key)
            self._ended(session)

    def forget(self) -> Steps:
        """Forget all sessions, in steps; nobody is told of their end but the fetches that wait."""
        for key in list(self._sessions):
            self._forget(key)
            yield _WEIGHT

    def _forget(self, key: ShareMemberKey) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            session.has_ended = True
            self._partitions -= len(session.partitions)
            self._groups[key.group_id] -= 1
            if not self._groups[key.group_id]:
                del self._groups[key.group_id]
        if session is not None and session.connection is not None:
            keys = self._by_connection.get(session.connection, {})
            keys.pop(key, None)
            if not keys:
                self._by_connection.pop(session.connection, None)
        if session is not None:
            for wake in list(session.waiting):
                wake()

    def _connection_lost(self, connection: Peer) -> None:
        for key in list(self._by_connection.pop(connection, {})):
            session = self._sessions.get(key)
            if session is not None:
                self.end(session)
