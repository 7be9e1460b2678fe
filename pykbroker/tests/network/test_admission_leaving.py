"""Who leaves before he has signed in, or after, at any byte of what he says, leaves nothing behind: no descriptor, and no object, not
even until the garbage of Python is looked for. For what OpenSSL and Kerberos keep of a connection weighs more than Python knows.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from pykbroker.tests.kit.running import until
from pykbroker.tests.kit.secured import SecuredNode, client_context, sasl_settings, secured_node, tls_settings
from pykbroker.tests.network.sayings import ask
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

LISTENERS: Final = {"SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL", "CERTS": "SSL"}
_TOKENS: Final = {"right": b"\0alice\0secret", "wrong": b"\0alice\0wr0ng"}


def said(listener: str, token: bytes) -> list[bytes]:
    """Frames; the last is a request."""
    signing = [ask(SaslHandshakeRequest("PLAIN"), 1), ask(SaslAuthenticateRequest(token), 2)]
    frames = [
        ask(ApiVersionsRequest("test", "1"), 3),
        *(signing if listener != "CERTS" else []),
        ask(DescribeClusterRequest(), 0),
    ]
    return [len(frame).to_bytes(4, "big") + frame for frame in frames]


def hello() -> bytes:
    """A client's first part of a TLS handshake."""
    outgoing = ssl.MemoryBIO()
    client = client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def left_of_connections() -> Counter[str]:
    rooms = ("pykbroker.network.", "pykbroker.requests.", "pykbroker.security.sasl.")
    return Counter(type(each).__qualname__ for each in gc.get_objects() if str(type(each).__module__).startswith(rooms))


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def come_and_go(node: SecuredNode, listener: str, token: bytes) -> None:
    """Once for every piece of what is said: after each frame, within it, and within a handshake; by an end, and by a reset."""
    frames = said(listener, token)
    for abruptly in (False, True):
        for whole in range(len(frames) + 1):
            for part in (0, 9):
                talk = await node.connect(listener, None if listener == "SASL" else client_context())
                for frame in frames[:whole]:
                    talk.writer.write(frame)
                    await asyncio.sleep(0)
                if whole < len(frames):
                    talk.writer.write(frames[whole][:part])
                if abruptly:
                    talk.writer.transport.abort()
                talk.close()
        if listener != "SASL":
            for cut in (0, 1, 5, 60, len(hello())):
                talk = await node.connect(listener)
                talk.writer.write(hello()[:cut])
                if abruptly:
                    talk.writer.transport.abort()
                talk.close()
    await until(lambda: not node.node.server.sockets(1).connections)


@pytest.mark.deep(but=1)
@pytest.mark.parametrize(("delay", "lasting"), [("0", "0"), ("20", "60000")])
def test_nothing_is_left(tmp_path: Path, delay: str, lasting: str) -> None:
    settings = tls_settings(tmp_path) | sasl_settings("sasl", "both")
    settings |= {"connection.failed.authentication.delay.ms": delay, "connections.max.reauth.ms": lasting}

    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings) as node:
            for listener in LISTENERS:
                for token in _TOKENS.values():
                    await come_and_go(node, listener, token)  # what is made once is there then
                    gc.collect()
                    gc.disable()
                    before, descriptors = left_of_connections(), open_descriptors()
                    await come_and_go(node, listener, token)
                    await until(lambda: open_descriptors() <= descriptors)  # noqa: B023
                    await until(lambda: not left_of_connections() - before)  # noqa: B023
                    gc.enable()

    try:
        asyncio.run(asyncio.wait_for(scenario(), 300))
    finally:
        gc.enable()
