"""ConsumerGroupHeartbeat in its usual form, from the bytes of the request to those of the answer without the messages between them.

That is what consumers send all day: the ids and the epoch of a member, which has nothing to report and for which nothing is to be done.
Anything else, malformed bytes too, is left to ``consumer_group_heartbeat.py``. No rule is here: the group says whether the member is alive
and nothing else, and restarts its session then, which the handler may do once more.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.requests import check_served, heartbeat_usual
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.primitives import LONG_UVARINT, Buffer

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import Peer

#: All versions are flexible.
SINCE = 0
_REGEX_SINCE = 1
#: The epoch, no instance id and no rack (two bytes), the rebalance timeout.
_unpack_member = Struct(">iHi").unpack_from
_MEMBER_SIZE = 10
#: After that: no topics, no pattern (from version 1 on), no assignor, no partitions, no tags.
_NOTHING = bytes(5)
#: The size, the correlation id, no tags, no throttling, no error, no message.
_pack_begin = Struct(">iixxxxxxxx").pack
#: After the member id: its epoch, the heartbeat interval, no assignment, no tags.
_pack_end = Struct(">iibx").pack
#: Bytes of the answer without its size and the member id.
_SIZE = 22


def answer(
    broker: Broker, peer: Peer, frame: memoryview, body: int, version: int, header: tuple[int, str | None]
) -> list[Buffer] | None:
    """The pieces of the answer to the request whose body begins at ``body`` in ``frame``; ``header`` has its correlation id and the
    client's. None for an unusual request, and where what the group says is not committed yet.
    """
    try:
        start, pos = body, body + frame[body]
        group_id = str(frame[start + 1 : pos], "utf-8")
        begin, end = pos, pos + frame[pos]
        encoded = frame[begin:end]
        epoch, others, rebalance_timeout_ms = _unpack_member(frame, end)
        if (
            not start < pos < start + LONG_UVARINT
            or not begin < end < begin + LONG_UVARINT
            or others
            or frame[end + _MEMBER_SIZE :] != _NOTHING[: 4 + (version >= _REGEX_SINCE)]
        ):
            return None
        member_id = str(encoded[1:], "utf-8")
        check_served(broker)
        client = header[1], peer.host
        interval_ms = broker.groups.ask(
            group_id, heartbeat_usual, group_id, member_id, epoch, rebalance_timeout_ms, client
        )
    except (IndexError, ValueError, struct_error, KafkaError):
        return None  # malformed, or refused
    if type(interval_ms) is not int:
        return None
    return [b"".join((_pack_begin(_SIZE + len(encoded), header[0]), encoded, _pack_end(epoch, interval_ms, -1)))]
