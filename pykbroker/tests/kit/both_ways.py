"""The same requests by two ways: the shorter path for those of the usual form, and the handlers alone."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import ModuleType
from typing import Any

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import GROUP, MemoryCluster, Peer
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

#: A topic whose first partition another broker leads.
ELSEWHERE = "elsewhere"


def answers_of(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the shorter path of a module answers from now on: pieces; what the dispatcher goes on with; None where it gave way."""
    found: list[Any] = []
    answer = module.answer
    monkeypatch.setattr(module, "answer", lambda *args: found.append(answer(*args)) or found[-1])
    return found


class OneWay:
    """One of the two: a cluster of two brokers, of which the second leads ``ELSEWHERE``; the first leads ``topics``, which have these
    settings, and is asked.
    """

    def __init__(self, topics: Mapping[str, dict[str, str]], *, usual: bool, **settings: str) -> None:
        self.world = MemoryCluster(2, dispatcher=Dispatcher(usual=usual), **settings)
        self.world.create(
            NewTopic(ELSEWHERE, -1, -1, [(0, [2, 1]), (1, [1, 2])]),
            *(NewTopic(name, -1, -1, [(0, [1]), (1, [1])], configs=of) for name, of in topics.items()),
        )
        self.world.coordinator(GROUP)

    def answer(self, frame: bytes) -> Any:
        """The bytes of the answer, None for none, or why the connection is closed."""
        runtime = self.world.cluster.runtime
        try:
            waiting = self.hand_in(frame)
            while not waiting.done:
                runtime.wake_queue.run()
                runtime.timers.run_due()
            pieces = waiting.value
        except CloseConnection as error:
            return str(error)
        return None if pieces is None else b"".join(map(bytes, pieces))

    def hand_in(self, frame: bytes) -> Deferred[Any]:
        """The wait for the pieces of the answer. Raises CloseConnection."""
        received = bytearray(frame)
        try:
            answer = self.world.dispatcher.answer(self.world.broker, Peer(), memoryview(received))
        except NotYet as error:
            return error.until.chain(lambda _: self.hand_in(frame))
        received[:] = b"\xff" * len(received)
        return answer if isinstance(answer, Deferred) else Deferred.completed(answer)

    def state(self) -> Any:
        """What the logs know, and what is in their files."""
        disk = self.world.disk
        return {
            (partition.topic, partition.index): (
                (log.log_end_offset, log.high_watermark),
                [
                    (each.producer_id, each.epoch, each.last_sequence, [*each.batches])
                    for each in log.active_producers()
                ],
                {path: disk.read(path) for each in log.segments for path in each.paths() if disk.exists(path)},
            )
            for partition in self.world.broker.partitions()
            if (log := partition.opened_log) is not None
        }

    def shards(self) -> list[GroupShard]:
        """Those that are loaded, in the order of their partitions."""
        return [loaded.shard for _, loaded in sorted(self.world.broker.groups.shards.loaded.items())]


class BothWays:
    """The two with the same settings, which are told the same and answer the same."""

    def __init__(self, rng: Random, topics: Mapping[str, dict[str, str]], **settings: str) -> None:
        self.rng = rng
        first, second = [OneWay(topics, usual=usual, **settings) for usual in (True, False)]
        self.ways = first, second
        self.numbers = 0

    def frame(self, request: Message, version: int, client_id: str | None = "client") -> bytearray:
        self.numbers += 1
        frame = bytearray()
        encode_request_header(frame, RequestHeader(request.API_KEY, version, self.numbers, client_id))
        request.encode(frame, version)
        return frame

    def tell(self, request: Message, version: int, response: Any = None) -> Any:
        """The bytes of the answer, or it as a ``response``."""
        answer = self.send(self.frame(request, version))
        if response is None:
            return answer
        _, start = decode_response_header(answer, 4, request.API_KEY, version)
        return response.decode(answer, start, version)[0]

    def send(self, frame: bytes | bytearray) -> Any:
        answers = [way.answer(bytes(frame)) for way in self.ways]
        assert answers[0] == answers[1]
        return answers[0]

    def spoil(self, frame: bytearray) -> bytes:
        """It as it is, mostly; else with another byte, cut off, or with more bytes."""
        rng = self.rng
        if rng.random() < 0.1:
            frame[rng.randrange(len(frame))] = rng.choice([0, 1, 127, 128, 255])
        elif rng.random() < 0.1:
            del frame[rng.randrange(len(frame)) :]
        elif rng.random() < 0.05:
            frame += rng.randbytes(3)
        return bytes(frame)

    def set_config(self, kind: int, resource: str, name: str, value: str) -> None:
        config = AlterableConfig(name, 0, value)
        self.tell(IncrementalAlterConfigsRequest([AlterConfigsResource(kind, resource, [config])]), 1)

    def flush_offsets_first(self) -> None:
        """Coordinators' records are synced before anybody is answered."""
        self.set_config(TOPIC_RESOURCE, CONSUMER_OFFSETS, "flush.messages", "1")
