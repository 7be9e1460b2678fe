"""Counts what a request calls between the bytes that arrive at a connection and those that it writes."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

import pykbroker
from pykbroker.brokers.cluster import Cluster
from pykbroker.network.connection import Connection
from pykbroker.network.receive_block import shared_block
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.tests.kit.cluster import LISTENER
from pykbroker.wire.apis import response_class
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message

_PRODUCT = str(Path(pykbroker.__file__).parent)
_TESTS = str(Path(__file__).parent.parent)
#: Their bodies are part of the function around them from Python 3.12 on, and functions before.
_INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")


class Calls(NamedTuple):
    """Of one request: functions of pykbroker that are called, generators that go on included, and built-in ones that these call."""

    python: int
    builtin: int


class Wire:
    """The transport of a connection: what is written is kept for the client."""

    def __init__(self) -> None:
        self.written = bytearray()

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 40_000) if name == "peername" else None

    def write(self, data: Any) -> None:
        self.written += data

    def writelines(self, pieces: list[Any]) -> None:
        for piece in pieces:
            assert type(piece) is not StoredRecords, "it would be read from the file later, which costs more"
            self.written += piece

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing is left open."""


class Client:
    """Requests over a connection of one broker on a real disk, without a socket or a loop."""

    def __init__(self, cluster: Cluster, dispatcher: Dispatcher) -> None:
        self.cluster = cluster
        self.wire = Wire()
        broker = cluster.brokers[1]
        self.connection = Connection(broker, dispatcher, LISTENER, 1 << 27, shared_block(), lambda _: None)
        self.connection.connection_made(self.wire)  # type: ignore[arg-type]  # what of a transport it uses

    def frame(self, request: Message, version: int) -> bytes:
        frame = bytearray(4)
        encode_request_header(frame, RequestHeader(request.API_KEY, version, 1, "client"))
        request.encode(frame, version)
        struct.pack_into(">i", frame, 0, len(frame) - 4)
        return bytes(frame)

    def send(self, frame: bytes) -> None:
        """The bytes of a frame arrive, in as many pieces as the connection takes them."""
        sent = 0
        while sent < len(frame):
            buffer = self.connection.get_buffer(-1)
            count = min(len(buffer), len(frame) - sent)
            buffer[:count] = frame[sent : sent + count]
            sent += count
            self.connection.buffer_updated(count)

    def answer(self, request: Message, version: int) -> Any:
        """What was written since, which is one answer."""
        data, self.wire.written = bytes(self.wire.written), bytearray()
        assert len(data) >= 4, "no answer yet"
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        _, start = decode_response_header(data, 4, request.API_KEY, version)
        response: Any = response_class(request.API_KEY).decode(data, start, version)[0]
        text = repr(response)
        assert "error_code=" not in text.replace("error_code=0", ""), text
        return response

    def turn(self) -> None:
        """What is due, and what was left for the end of the turn of the loop."""
        self.cluster.runtime.timers.run_due()
        self.cluster.runtime.wake_queue.run()

    def ask(self, request: Message, version: int) -> Any:
        self.send(self.frame(request, version))
        self.turn()
        return self.answer(request, version)


class Counter:
    """Counts calls while it is entered."""

    def __init__(self) -> None:
        self._python = self._builtin = 0

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    @property
    def calls(self) -> Calls:
        return Calls(self._python, self._builtin)

    def _seen(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "c_call"):
            return
        code = frame.f_code
        if not code.co_filename.startswith(_PRODUCT) or code.co_filename.startswith(_TESTS):
            return
        if event == "c_call":
            self._builtin += 1
        elif code.co_name not in _INLINED:
            self._python += 1
