"""Who has not signed in is served nothing, whatever he sends: frames that are spoiled, before and during SASL and TLS.

``PYKBROKER_STRANGE_FRAMES`` says how many; in memory ten million take a core about a quarter of an hour.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
from pathlib import Path
from typing import Final

from pykbroker.tests.kit.running import until
from pykbroker.tests.kit.secured import secured_node
from pykbroker.tests.network.sayings import PROTOCOLS, Spoiling, ask, scripts, settings
from pykbroker.tests.network.strangers import Strangers
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

FRAMES: Final = int(os.environ.get("PYKBROKER_STRANGE_FRAMES", "10000"))
#: Over sockets.
CONNECTIONS: Final = 200
#: Blocks of memory: less than one for each connection, however many frames there are.
_MOST_GROWTH: Final = 10_000


def test_nothing_is_served_nobody_fails_and_memory_stays_what_it_is(tmp_path: Path) -> None:
    strangers = Strangers(tmp_path, seed=15)
    strangers.send(FRAMES // 2)
    gc.collect()
    before = sys.getallocatedblocks()
    strangers.send(FRAMES // 2)
    gc.collect()
    assert not strangers.found
    assert sys.getallocatedblocks() - before < _MOST_GROWTH
    assert min(strangers.closed, strangers.answered) > strangers.connections // 4


def test_nothing_comes_of_spoiled_records_of_tls(tmp_path: Path) -> None:
    strangers = Strangers(tmp_path, seed=15, tls_every=1)
    strangers.send(FRAMES // 20)
    assert not strangers.found
    assert strangers.closed > strangers.connections // 4


def test_who_does_sign_in_is_found_out(tmp_path: Path) -> None:
    """What looks for faults is able to find one."""
    good = ask(SaslHandshakeRequest("PLAIN"), 1), ask(SaslAuthenticateRequest(b"\0alice\0secret"), 2)
    strangers = Strangers(tmp_path, seed=15, says=[(*good, ask(ApiVersionsRequest(), 0))])
    strangers.send(2000)
    assert strangers.found["somebody is User:alice"]


def test_a_node_stays_what_it_is(tmp_path: Path) -> None:
    spoil = Spoiling(chance := random.Random(15), every := list(scripts()))
    texts = {
        name: value
        for name, value in settings(tmp_path).items()
        if name not in ("listeners", "listener.security.protocol.map")
    }

    async def stranger(node, listener: str) -> None:
        talk = await node.connect(listener)
        for part in chance.choice(every):
            frame = spoil(part) if isinstance(part, bytes) else b""
            talk.writer.write(frame if chance.random() < 0.2 else len(frame).to_bytes(4, "big") + frame)
        talk.close()

    async def scenario() -> None:
        async with secured_node(tmp_path, PROTOCOLS, texts) as node:
            for _ in range(CONNECTIONS):
                await stranger(node, chance.choice(list(PROTOCOLS)))
            await until(lambda: not node.node.server.sockets(1).connections)
            talk = await node.connect("PLAINTEXT")
            assert (await talk.ask(ApiVersionsRequest("test", "1"), 3, ApiVersionsResponse)).error_code == 0
            talk.close()

    asyncio.run(scenario())
