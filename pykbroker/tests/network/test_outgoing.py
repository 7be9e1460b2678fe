"""What is written to the socket, and how, when a connection flushes its responses. See test_streaming for records in files."""

from __future__ import annotations

from typing import Any

from pykbroker.network import outgoing as module
from pykbroker.network.outgoing import Outgoing


class Transport:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.calls.append(("write", bytes(data)))

    def writelines(self, pieces: list[bytes]) -> None:
        self.calls.append(("writelines", list(pieces)))


def outgoing() -> Outgoing:
    return Outgoing(None, lambda: None, lambda _: None)  # type: ignore[arg-type]  # bytes alone need no runtime


def test_small_responses_are_joined_and_large_ones_are_not() -> None:
    large = bytes(module._JOIN_BELOW)
    for pieces, call in (
        ([b"a"], ("write", b"a")),
        ([b"a", b"b"], ("write", b"ab")),
        ([b"a", large], ("writelines", [b"a", large])),
    ):
        responses, transport = outgoing(), Transport()
        responses.add(pieces)
        assert responses.size == sum(map(len, pieces))
        responses.flush(transport)  # type: ignore[arg-type]
        responses.flush(transport)  # type: ignore[arg-type]
        assert (transport.calls, responses.size) == ([call], 0)


def test_nothing_is_lost_without_a_transport() -> None:
    responses, transport = outgoing(), Transport()
    responses.add([b"kept"])
    responses.flush(None)
    responses.flush(transport)  # type: ignore[arg-type]
    assert transport.calls == [("write", b"kept")]


def test_a_client_that_does_not_read_blocks() -> None:
    responses = outgoing()
    responses.pause()
    assert responses.is_blocked
    responses.resume()
    assert not responses.is_blocked
