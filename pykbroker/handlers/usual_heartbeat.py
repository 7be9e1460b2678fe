"""Heartbeat in its usual form, from the bytes of the request to those of the answer without the messages between them.

That is what members of classic groups send all day, in the flexible version and without a static id. Anything else, malformed bytes too,
and whatever the group refuses, is left to ``heartbeat.py``. No rule is here: the group says whether the member is one, and restarts its
session then, which the handler may do once more.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.requests import heartbeat
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.primitives import LONG_UVARINT, Buffer

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import Peer

#: The flexible version.
SINCE = 4
#: The generation, and the byte of the member id's length.
_unpack_generation = Struct(">iB").unpack_from
#: After the member id: no static id, no tags.
_NOTHING = bytes(2)
#: The size, the correlation id, no tags, no throttling, the error, no tags.
_ANSWER = Struct(">iixxxxxhx")
_SIZE = _ANSWER.size - 4


def answer(
    broker: Broker, peer: Peer, frame: memoryview, body: int, version: int, header: tuple[int, str | None]
) -> list[Buffer] | None:
    """The pieces of the answer to the request whose body begins at ``body`` in ``frame``; ``header`` has its correlation id and the
    client's. None for an unusual request, and where what the group says is not committed yet.
    """
    try:
        group_size = frame[body]
        pos = body + group_size
        generation, member_size = _unpack_generation(frame, pos)
        begin, end = pos + 5, pos + 4 + member_size
        if not 1 < group_size < LONG_UVARINT or not 0 < member_size < LONG_UVARINT or frame[end:] != _NOTHING:
            return None
        group_id = str(frame[body + 1 : pos], "utf-8")
        request = HeartbeatRequest(group_id, generation, str(frame[begin:end], "utf-8"))
        response = broker.groups.ask(group_id, heartbeat, request)
    except (IndexError, ValueError, struct_error, KafkaError):
        return None  # malformed, or refused
    if type(response) is not HeartbeatResponse:
        return None
    return [_ANSWER.pack(_SIZE, header[0], response.error_code)]
