"""What brokers are asked and answer, in words with Kafka's names, for a timeline."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pykbroker.handlers.contract import CloseConnection
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred
from pykbroker.steered.request_log import API_NAMES, RequestLog
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.message import WireStruct

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.process.node import Node
    from pykbroker.security.context import RequestContext
    from pykbroker.worlds.brokers import WorldKafka
    from pykbroker.worlds.simulator import Simulator
    from pykbroker.worlds.world import World

#: Fields of a message, or of a part of it, that are told, and how.
_FIELDS: Final = {
    "group_id": "group {}",
    "transactional_id": "transaction {}",
    "member_id": "member {}",
    "generation_id": "generation {}",
    "generation_id_or_member_epoch": "generation {}",
    "member_epoch": "epoch {}",
    "leader": "leader {}",
    "producer_id": "producer {}",
    "producer_epoch": "epoch {}",
    "committed": "commit {}",
    "committed_offset": "offset {}",
    "fetch_offset": "from offset {}",
    "base_offset": "at offset {}",
    "key": "{}",
    "coordinator_keys": "{}",
}
#: Defaults, which say nothing.
_NOTHING: Final[tuple[Any, ...]] = (None, "", -1, [])
_TOPICS: Final = ("name", "topic", "topic_name")
_PARTITIONS: Final = ("partition_index", "index", "partition")
_MOST_PARTS: Final = 6
_HEADER: Final = struct.Struct(">qi")
_COUNT: Final = struct.Struct(">i")
_COUNT_AT: Final = 57
_LONGEST_NAME: Final = 36
#: All of a UUID but its beginning.
_UUID: Final = re.compile("(?<=-[0-9a-f]{4})[0-9a-f]{4}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def record(world: World) -> None:
    """Have all that the world's brokers are asked noted in its timeline."""

    def watch(kafka: WorldKafka) -> None:
        def fill(node: Node) -> None:
            recorder = _Recorder(world.simulator, kafka, kafka.requests)
            node.server.dispatcher.places.fill(Place.OBSERVE, through(recorder))

        kafka.requests = RequestLog()
        kafka.watch = fill

    world.watch = watch


class _Recorder:
    """A step around the handlers of a process of brokers."""

    def __init__(self, simulator: Simulator, kafka: WorldKafka, log: RequestLog | None) -> None:
        self._simulator = simulator
        self._kafka = kafka
        self._log = log

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Any], /) -> Any:
        def name_of(topic_id: bytes) -> str | None:
            topic = broker.metadata.image.topics_by_id.get(topic_id)
            return None if topic is None else topic.name

        client, api = ctx.client_host, API_NAMES[ctx.api_key]
        where = f"{self._kafka.name}/{broker.node_id}"
        self._note(client, "request", f"{api} -> {where}", described(request, name_of))

        def answered(response: Any) -> Any:
            self._note(client, "answer", f"{api} <- {where}", described(response, name_of, answer=True) or "ok")
            return response

        def refused(error: Exception) -> Any:
            code = ErrorCode(error.code).name if isinstance(error, KafkaError) else str(error)
            self._note(client, "answer", f"{api} <- {where}", code)
            raise error

        try:
            answer = proceed() if self._log is None else self._log(broker, ctx, request, proceed)
        except (KafkaError, CloseConnection) as error:
            refused(error)
        if isinstance(answer, Deferred):
            return answer.map(answered).recover(KafkaError, refused)
        return answered(answer)

    def _note(self, client: str, kind: str, what: str, words: str) -> None:
        self._simulator.events.append((self._simulator.now, client, kind, f"{what}  {words}".rstrip()))


def described(message: Any, name_of: Callable[[bytes], str | None] = lambda _: None, *, answer: bool = False) -> str:
    """A request or an answer in a line: group, member, offsets, records and errors, by topic and partition. Of an answer, partitions
    of which nothing is told are left out.
    """
    if message is None:
        return "no answer"
    told = list(_event_text(message))
    parts = [part for part, is_bare in _parts(message, "", name_of) if not (is_bare and answer)]
    left_out = len(parts) - _MOST_PARTS
    return ", ".join(told + parts[:_MOST_PARTS] + ([f"and {left_out} more"] if left_out > 0 else []))


def _event_text(item: WireStruct) -> Iterator[str]:
    for name in item.__slots__:
        value = getattr(item, name)
        if name == "error_code" and value:
            yield ErrorCode(value).name
        elif name in _FIELDS and value not in _NOTHING:
            yield _FIELDS[name].format(_short(value))
        elif name in ("records", "record_set") and value is not None:
            yield _records(value)


def _short(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)
    short = _UUID.sub("...", value)
    return short if len(short) <= _LONGEST_NAME else f"{short[:_LONGEST_NAME]}..."


def _parts(item: WireStruct, topic: str, name_of: Callable[[bytes], str | None]) -> Iterator[tuple[str, bool]]:
    """What is told of the partitions, and of other parts with an error; and whether it is no more than their names."""
    for name in item.__slots__:
        value = getattr(item, name)
        if not (type(value) is list and value and isinstance(value[0], WireStruct)):
            continue
        for each in value:
            within = _topic(each, name_of) or topic
            index = next((getattr(each, at) for at in _PARTITIONS if at in each.__slots__), None)
            told = " ".join(_event_text(each))
            if within and isinstance(index, int):
                yield f"{within}-{index} {told}".rstrip(), not told
            elif getattr(each, "error_code", 0):
                yield f"{within} {told}".strip(), False
            yield from _parts(each, within, name_of)


def _topic(item: WireStruct, name_of: Callable[[bytes], str | None]) -> str:
    for name in _TOPICS:
        if name in item.__slots__ and isinstance(getattr(item, name), str) and getattr(item, name):
            return str(getattr(item, name))
    topic_id = getattr(item, "topic_id", b"")
    return (name_of(topic_id) or "") if topic_id and any(topic_id) else ""


def _records(value: Any) -> str:
    """The number of records in batches, and their first offset."""
    pieces = value if isinstance(value, list | tuple) else [value]
    count, first = 0, None
    for piece in pieces:
        if not isinstance(piece, bytes | bytearray | memoryview):
            return f"{sum(map(len, pieces))} bytes of records"
        at = 0
        while at + _COUNT_AT + 4 <= len(piece):
            base, length = _HEADER.unpack_from(piece, at)
            first = base if first is None else first
            count += _COUNT.unpack_from(piece, at + _COUNT_AT)[0]
            at += 12 + length
    if not count:
        return "no records"
    return f"{count} record{'s' if count > 1 else ''} from {first}"
