"""Several brokers of one process: what is altered of a listener is so for the broker that was named, and no other; a store is told of once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.tests.kit.certificates import HOSTS, authority, now_ms, with_small_key, written
from pykbroker.tests.kit.secured import SecuredNode, client_context, secured_node, tls_settings
from pykbroker.tests.network.test_tls import LOCATION, alter, serial_of


async def serials(node: SecuredNode) -> tuple[str, str]:
    """The certificates that new clients of the brokers 1 and 2 are shown."""
    shown = []
    for broker in (1, 2):
        talk = await node.connect("SSL", client_context(), broker)
        shown.append(serial_of(talk))
        talk.close()
    return shown[0], shown[1]


def test_stores_are_each_brokers_own(tmp_path: Path) -> None:
    new = written(tmp_path, "new.pem", authority().issue("localhost", now_ms(), hosts=HOSTS).pem)
    other = written(tmp_path, "other.pem", authority().issue("other", now_ms(), hosts=HOSTS).pem)

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path), brokers=2) as node:
            first, second = [await node.connect("PLAINTEXT", broker=broker) for broker in (1, 2)]
            begun, also_begun = await serials(node)
            assert begun == also_begun
            assert await alter(second, {LOCATION: other}, "2") == 42
            assert await alter(second, {LOCATION: new}, "2") == 0
            altered = (await serials(node))[1]
            assert await serials(node) == (begun, altered)
            assert altered != begun
            assert await alter(first, {LOCATION: new}, "1") == 0
            assert await serials(node) == (altered, altered)
            assert await alter(first, {LOCATION: None}, "1") == 0
            assert await serials(node) == (begun, altered)
            first.close()
            second.close()
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path), brokers=2) as node:
            assert await serials(node) == (begun, altered)

    asyncio.run(scenario())


def test_a_store_that_others_may_read_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = tls_settings(tmp_path)
    store = Path(settings["ssl.keystore.location"])
    store.chmod(0o644)

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL", "MORE": "SSL"}, settings, brokers=2) as node:
            talk = await node.connect("PLAINTEXT")
            assert await alter(talk, {LOCATION: str(store)}, "1") == 0
            talk.close()

    asyncio.run(scenario())
    assert (
        len([record for record in caplog.records if f"{store} holds a private key and is" in record.getMessage()]) == 1
    )


def test_a_weak_certificate_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = tls_settings(tmp_path) | {"ssl.keystore.location": written(tmp_path, "weak.pem", with_small_key().pem)}

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL", "MORE": "SSL"}, settings, brokers=2):
            pass

    asyncio.run(scenario())
    assert ["weak.pem holds a weak certificate" in record.message for record in caplog.records].count(True) == 1
