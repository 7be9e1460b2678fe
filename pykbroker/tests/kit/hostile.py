"""A broker that answers every API with what would do the most harm where it is printed.

Answers are made by the message classes: every string and every bytes is the same word, every list has one element. So names that
a command was given are found in the answers, and there is no field that a new API or a new version could bring unseen.
"""

from __future__ import annotations

import inspect
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pykbroker.refusals.shapes import ERROR_FIELDS, entity_class, fields
from pykbroker.wire.apis import APIS, ApiKey, response_class
from pykbroker.wire.errors import WireError
from pykbroker.wire.headers import begin_response, decode_request_header
from pykbroker.wire.message import WireStruct
from pykbroker.wire.messages.api_versions import ApiVersion
from pykbroker.wire.records import Record, encode_batch

#: Rings, clears, writes the clipboard (OSC 52), by C0 and by C1; ends lines in every way; turns text around and hides it; is no UTF-8.
WORD = "x\x1b]52;c;cHduZWQ=\x07\x1b[2J\x9b1A\x9d0;t\x9c\nFORGED\trow\r\x0b\x0c\x85\u2028FORGED\u2029\u202eesrever\u2066\u200b\u200f\x7f\x08"
#: What commands make of some strings decides what else they show.
PLAUSIBLE = {
    "group_state": "Stable",
    "protocol_type": "consumer",
    "group_type": "classic",
    "transaction_state": "Ongoing",
    "entity_type": "client-id",
    "is_internal": False,
    "next_cursor": None,
    "unknown_state_filters": [],
}
Change = Callable[[Any, str, Any], Any]


class HostileBroker:
    """Serves on a port of its own until it is closed. ``change(struct, field, value)`` may put another value into a field."""

    def __init__(self, change: Change | None = None) -> None:
        self._change = change or (lambda _struct, _name, value: value)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.asked: set[int] = set()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while size := stream.read(4):
                header, _ = decode_request_header(stream.read(int.from_bytes(size, "big")), 0)
                self.asked.add(header.api_key)
                connection.sendall(self._answer(header.api_key, header.api_version, header.correlation_id))

    def _answer(self, key: int, version: int, correlation_id: int) -> bytes:
        answer = self._filled(response_class(key))
        if key == ApiKey.API_VERSIONS:
            highest = {api.key: api.max_version - api.latest_unstable for api in APIS.values()}
            answer.error_code = 0
            answer.api_keys = [ApiVersion(each.key, each.min_version, highest[each.key]) for each in APIS.values()]
        while True:
            out = begin_response(key, version, correlation_id)
            try:
                answer.encode(out, version)
            except WireError as error:
                # "field x has a value, and this version cannot carry it"
                _unset(answer, str(error).partition("field ")[2].partition(" ")[0])
            else:
                return b"".join(bytes(piece) for piece in out.finish())

    def _filled(self, kind: type[WireStruct]) -> Any:
        made: Any = kind()
        for each in fields(kind):
            annotation = str(inspect.signature(kind.__init__).parameters[each.name].annotation)
            value = self._value(made, each.name, annotation.removesuffix(" | None"))
            if each.name == "entity":
                value = [self._filled(entity_class(kind))]
            elif each.struct is not None:
                value = [self._filled(each.struct)] if each.many else self._filled(each.struct)
            setattr(made, each.name, self._change(made, each.name, value))
        return made

    def _value(self, made: Any, name: str, annotation: str) -> Any:
        default = getattr(made, name)
        if name in ERROR_FIELDS:
            return 0
        if name in ("port", "host"):
            return self.port if name == "port" else "127.0.0.1"
        if annotation == "str":
            return WORD
        if annotation in ("bytes", "Buffer", "Records"):
            if isinstance(default, bytes) and len(default) == 16:  # a UUID
                return bytes(range(16))
            return RECORDS if name == "records" else WORD.encode()
        if annotation.startswith("list["):
            return {"str": [WORD], "int": [0], "bytes": [bytes(range(16))]}.get(annotation[5:-1], [])
        zero = "throttle" in name or "partition" in name
        return {"bool": True, "int": 0 if zero else 1, "float": 1.0}.get(annotation, default)


RECORDS = encode_batch([Record(1, 1, WORD.encode(), WORD.encode(), ((WORD, WORD.encode()),))], base_offset=1)


def _unset(struct: WireStruct, name: str) -> bool:
    """Give a field its default, in the outermost structs in which it has another value; whether there is one."""
    default = getattr(type(struct)(), name, None) if name in struct.__slots__ else None
    if name in struct.__slots__ and getattr(struct, name) != default:
        setattr(struct, name, default)
        return True
    values = [getattr(struct, each.name) for each in fields(type(struct))]
    inner = [each for value in values for each in (value if isinstance(value, list) else [value])]
    unset = [_unset(each, name) for each in inner if isinstance(each, WireStruct)]  # all of them, not the first alone
    return any(unset)
