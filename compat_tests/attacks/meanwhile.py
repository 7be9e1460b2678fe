"""What other clients are answered while a broker works on one client's request."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compat_tests.harness.memory_crowd import framed
from compat_tests.harness.process import BrokerProcess
from pykbroker.wire.apis import response_class
from pykbroker.wire.headers import decode_response_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

#: The topic to which others produce meanwhile.
MINE = "mine"
#: A broker whose loop is held until the request is done answers up to three: before it begins, and until this process sees its answer.
ENOUGH = 5
#: Attempts, since this process may have no turn while a broker has many. One whose loop is held fails in each.
_ATTEMPTS = 20

#: A request, and its version.
Asked = tuple[Message, int]
Attack = Callable[[], Asked]
#: What the attacker asks next, or None where it has what it wanted.
Then = Callable[[Any], "Asked | None"]


@dataclass
class Seen:
    """``others`` are the records that another client produced, one after the other, before the first byte of ``answer`` came."""

    answer: Any
    others: int
    #: Seconds, for who reads them: nothing is held to them.
    longest_s: float
    took_s: float


def _nothing(_: Any) -> None:
    return None


def attacked(broker: BrokerProcess, attack: Attack, then: Then = _nothing) -> Seen:
    """The first attempt at which ENOUGH others were answered until the attacker had its last answer, or the last attempt."""
    for _ in range(_ATTEMPTS):
        request = attack()
        seen = asyncio.run(_attacked(broker, request, then))
        told = f"{seen.others} answers meanwhile; took {seen.took_s * 1e3:,.0f} ms, others at most {seen.longest_s * 1e3:,.0f}"
        print(f"{broker.name}: {type(request[0]).__name__.removesuffix('Request')}: {told}", file=sys.stderr)
        if seen.others >= ENOUGH:
            break
    return seen


async def _attacked(broker: BrokerProcess, request: Asked, then: Then) -> Seen:
    reader, writer = await asyncio.open_connection(broker.host, broker.port)
    for _ in range(3):
        await _produced(reader, writer)
    others, seen = 0, Seen(None, 0, 0.0, 0.0)

    async def attack() -> None:
        from_attacker, attacker = await asyncio.open_connection(broker.host, broker.port)
        begun, wanted = time.perf_counter(), request
        while wanted is not None:
            asked, version = wanted
            attacker.write(framed(asked, version))
            size = int.from_bytes(await from_attacker.readexactly(4), "big")
            seen.others, seen.took_s = others, time.perf_counter() - begun
            frame = await from_attacker.readexactly(size)
            _, position = decode_response_header(frame, 0, type(asked).API_KEY, version)
            seen.answer, _ = response_class(type(asked).API_KEY).decode(frame, position, version)
            wanted = then(seen.answer)
        attacker.close()

    attacking = asyncio.ensure_future(attack())
    while not attacking.done():
        waited = await _produced(reader, writer)
        seen.longest_s = max(seen.longest_s, waited)
        others += 1
    await attacking
    writer.close()
    return seen


async def _produced(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    begun = time.perf_counter()
    writer.write(_ONE)
    await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return time.perf_counter() - begun


_RECORDS = encode_batch([Record(timestamp=1_700_000_000_000, value=b"x" * 100)])
_PARTITION = PartitionProduceData(index=0, records=_RECORDS)
_ONE = framed(
    ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name=MINE, partition_data=[_PARTITION])]), 9
)
