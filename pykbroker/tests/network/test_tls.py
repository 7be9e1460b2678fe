"""TLS over real sockets: who is let in as whom, what a wrong client is told, large frames, storms, and new certificates."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import ssl
import struct
from pathlib import Path
from typing import Any

import pytest

from pykbroker.network import admission
from pykbroker.network.receive_block import BLOCK
from pykbroker.runtime.clock import ManualClock
from pykbroker.security.authority import Authority
from pykbroker.tests.kit.certificates import HOSTS, authority, client, now_ms, written
from pykbroker.tests.kit.running import Client, until
from pykbroker.tests.kit.secured import SecuredNode, client_context, secured_node, tls_settings
from pykbroker.tests.network.test_connection import ASK, create, fetch, produce
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.api_versions import ApiVersionsResponse
from pykbroker.wire.messages.fetch import FetchResponse
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pykbroker.wire.messages.produce import ProduceResponse

BROKER = 4
LOCATION = "listener.name.ssl.ssl.keystore.location"


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


def principals(node: SecuredNode) -> list[str]:
    return [connection.principal for connection in node.node.server.sockets(1).connections]


async def served(talk: Client) -> None:
    assert (await talk.ask(ASK, 3, ApiVersionsResponse)).error_code == 0


def test_frames_of_every_size_in_both_directions(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            talk = await node.connect("SSL", client_context())
            await create(talk)
            values = [bytes([n]) * size for n, size in enumerate((1, 16_384, BLOCK, BLOCK + 1, 3_000_000 // 4))]
            for value in values:
                answer = await talk.ask(produce(value), 9, ProduceResponse)
                assert answer.responses[0].partition_responses[0].error_code == 0
            answer = await talk.ask(fetch(0), 12, FetchResponse)
            records = bytes(answer.responses[0].partitions[0].records)
            assert all(value in records for value in values)
            sent = [talk.send(ASK, 3) for _ in range(2000)]
            assert [(await talk.receive(ApiVersionsResponse, 3))[0] for _ in sent] == sent
            talk.close()

    run(scenario())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(("asked", "shown", "principal"), [
    ("none", True, "User:ANONYMOUS"),
    ("requested", False, "User:ANONYMOUS"),
    ("requested", True, "User:O=Test,CN=alice"),
    ("required", True, "User:O=Test,CN=alice"),
])  # fmt: skip
def test_who_somebody_is(tmp_path: Path, version: Any, asked: str, shown: bool, principal: str) -> None:
    async def scenario() -> None:
        settings = tls_settings(tmp_path) | {"ssl.client.auth": asked}
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings) as node:
            context = client_context(written(tmp_path, "alice.pem", client().pem) if shown else None)
            context.maximum_version = version
            talk = await node.connect("SSL", context)
            await served(talk)
            assert principals(node) == [principal]
            talk.close()

    run(scenario())


def test_rules_make_names_of_subjects_and_one_that_none_applies_to_is_nobody(tmp_path: Path, caplog: Any) -> None:
    async def scenario() -> None:
        settings = tls_settings(tmp_path) | {
            "ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^O=Test,CN=(a.*)$/$1/U",
        }
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings) as node:
            talk = await node.connect("SSL", client_context(written(tmp_path, "alice.pem", client().pem)))
            await served(talk)
            assert principals(node) == ["User:ALICE"]
            talk.close()
            other = await node.connect("SSL", client_context(written(tmp_path, "bob.pem", client("bob").pem)))
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await served(other)
            other.close()
            await until(lambda: "no rule of ssl.principal.mapping.rules applies to O=Test,CN=bob" in caplog.text)

    run(scenario())


@pytest.mark.parametrize(
    ("asked", "which"),
    [
        ("required", "nobody"),
        ("required", "stranger"),
        ("required", "expired"),
        ("requested", "stranger"),
        ("requested", "expired"),
    ],
)
def test_bad_certificates_are_refused_and_the_log_says_why(tmp_path: Path, caplog: Any, asked: str, which: str) -> None:
    certificate = {
        "stranger": lambda: Authority("Other CA", now_ms()).issue("alice", now_ms()).pem,
        "expired": lambda: client(days=-1).pem,
    }

    async def scenario() -> None:
        settings = tls_settings(tmp_path) | {"ssl.client.auth": asked}
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings) as node:
            shown = None if which == "nobody" else written(tmp_path, "own.pem", certificate[which]())
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError, ssl.SSLError)):
                await served(await node.connect("SSL", client_context(shown)))
            words = "ssl.client.auth=required" if which == "nobody" else "its certificate is not accepted"
            await until(lambda: words in caplog.text)
            await until(lambda: not node.node.server.sockets(1).connections)

    run(scenario())


def test_tls_that_is_too_old_is_refused(tmp_path: Path, caplog: Any) -> None:
    async def scenario() -> None:
        async with secured_node(
            tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path) | {"ssl.enabled.protocols": "TLSv1.3"}
        ) as node:
            context = client_context()
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            with pytest.raises(ssl.SSLError):
                await node.connect("SSL", context)
            await until(lambda: "older than ssl.enabled.protocols allows" in caplog.text)

    run(scenario())


def test_a_client_without_tls_and_one_with_tls_where_there_is_none_are_told_apart_in_the_log(
    tmp_path: Path, caplog: Any
) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            bystander = await node.connect("SSL", client_context())
            plain = await node.connect("SSL")
            plain.send(ASK, 3)
            assert await plain.closed_by_broker()
            assert "it does not use TLS, but this listener requires it" in caplog.text
            with pytest.raises((ConnectionError, ssl.SSLError)):
                await node.connect("PLAINTEXT", client_context())
            assert "it opened with a TLS handshake, but this listener speaks plaintext" in caplog.text
            await served(bystander)
            bystander.close()

    run(scenario())


def test_a_port_that_is_only_looked_at_is_no_line_in_the_log(tmp_path: Path, caplog: Any) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            talk = await node.connect("SSL")
            await until(lambda: bool(node.node.server.sockets(1).connections))
            talk.close()
            await until(lambda: not node.node.server.sockets(1).connections)

    run(scenario())
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_garbage_in_a_handshake_and_after_it_ends_its_own_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            bystander = await node.connect("SSL", client_context())
            for sent in (b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x03\xff\xff" + b"\x16" * 70_000, b"\x16" * 300_000):
                talk = await node.connect("SSL")
                talk.writer.write(sent)
                with contextlib.suppress(ConnectionResetError):  # it was not read to its end
                    assert len(await talk.reader.read()) < 100  # an alert at most
                talk.close()
            talk = await node.connect("SSL", client_context())
            await served(talk)
            os.write(talk.writer.get_extra_info("socket").fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))
            with pytest.raises(ssl.SSLError, match="BAD_RECORD_MAC"):
                await talk.reader.read()
            talk.close()
            await served(bystander)
            bystander.close()

    run(scenario())


def test_a_slow_reader_is_not_read_from_until_it_has_taken_what_it_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            talk = await node.connect("SSL", client_context())
            await create(talk)
            await talk.ask(produce(b"x" * 500_000), 9, ProduceResponse)
            sent = [talk.send(fetch(0), 12) for _ in range(60)]
            for expected in sent:
                correlation, answer = await talk.receive(FetchResponse, 12)
                assert correlation == expected
                assert len(answer.responses[0].partitions[0].records) > 500_000
            talk.close()

    run(scenario())


def test_handshakes_take_turns_with_requests(tmp_path: Path) -> None:
    """However many connect at once, somebody who is in gets his answers between."""

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            inside = await node.connect("SSL", client_context())
            hello = _client_hello()
            storm = [await asyncio.open_connection("127.0.0.1", node.ports["SSL"]) for _ in range(200)]
            for _, writer in storm:
                writer.write(hello)
            answered = [asyncio.ensure_future(reader.readexactly(5)) for reader, _ in storm]
            await served(inside)
            behind = sum(not each.done() for each in answered)
            assert behind > 0, "all handshakes came before a request that was there as early"
            await asyncio.gather(*answered)
            for _, writer in storm:
                writer.close()
            inside.close()

    run(scenario())


def test_a_handshake_that_fails_in_an_unknown_way_holds_up_nobody(
    tmp_path: Path, caplog: Any, monkeypatch: Any
) -> None:
    def fails(*_: Any) -> str:
        raise ZeroDivisionError

    async def scenario() -> None:
        settings = tls_settings(tmp_path) | {"ssl.client.auth": "requested"}
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings) as node:
            shown = client_context(written(tmp_path, "alice.pem", client().pem))
            with monkeypatch.context() as patched:
                patched.setattr(admission, "subject_name", fails)
                storm = await asyncio.gather(*(node.connect("SSL", shown) for _ in range(30)), return_exceptions=True)
                for each in storm:
                    if isinstance(each, Client):
                        assert await each.closed_by_broker()
            for context in (shown, client_context()):
                talk = await node.connect("SSL", context)
                await served(talk)
                talk.close()

    run(scenario())
    assert "Unhandled error in a TLS handshake" in caplog.text


def _client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        client_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


async def alter(talk: Client, settings: dict[str, str | None], broker_id: str = "1") -> int:
    changes = [AlterableConfig(name, 1 if value is None else 0, value) for name, value in settings.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, broker_id, changes)])
    answer = await talk.ask(request, 1, IncrementalAlterConfigsResponse)
    return answer.responses[0].error_code


def serial_of(talk: Client) -> str:
    return talk.writer.get_extra_info("ssl_object").getpeercert()["serialNumber"]


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="Python's client cannot choose suites of TLS 1.3, that of openssl can"
)
def test_no_client_gets_a_weaker_suite_of_tls_1_3_than_is_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def is_served(port: int, suite: str) -> bool:
        """Whether the connection is open until the client ends it."""
        command = f"openssl s_client -connect 127.0.0.1:{port} -tls1_3 -ciphersuites {suite} -quiet"
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command.split(), stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1))
        answered = bool(await process.stdout.read(4))
        if process.returncode is None:
            process.kill()
        await process.wait()
        return answered

    async def scenario() -> None:
        settings = tls_settings(tmp_path) | {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}
        async with secured_node(tmp_path, {"SSL": "SSL"}, settings) as node:
            assert await is_served(node.ports["SSL"], "TLS_AES_256_GCM_SHA384")
            assert not await is_served(node.ports["SSL"], "TLS_AES_128_GCM_SHA256")

    asyncio.run(scenario())
    assert "none as strong as those of ssl.cipher.suites" in caplog.text or "no shared cipher" in caplog.text


def test_a_store_is_read_anew_for_new_connections_and_old_ones_stay(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            admin = await node.connect("PLAINTEXT")
            old = await node.connect("SSL", client_context())
            location = written(tmp_path, "new.pem", authority().issue("localhost", now_ms(), hosts=HOSTS).pem)
            assert await alter(admin, {LOCATION: location, "listener.name.ssl.ssl.keystore.type": "PEM"}) == 0
            new = await node.connect("SSL", client_context())
            assert serial_of(new) != serial_of(old)
            written(tmp_path, "new.pem", authority().issue("localhost", now_ms(), hosts=[*HOSTS, "third"]).pem)
            assert await alter(admin, {LOCATION: location}) == 0  # the same text: the file has changed
            third = await node.connect("SSL", client_context())
            assert serial_of(third) != serial_of(new)
            for bad in (
                str(tmp_path / "nowhere.pem"),
                written(tmp_path, "broken.pem", "no PEM"),
                written(tmp_path, "other.pem", authority().issue("other", now_ms(), hosts=HOSTS).pem),
                written(tmp_path, "fewer.pem", authority().issue("localhost", now_ms(), hosts=["localhost"]).pem),
            ):
                assert await alter(admin, {LOCATION: bad}) == 42
                assert await alter(admin, {"ssl.keystore.location": bad}) == 42
            assert await alter(admin, {LOCATION: None}) == 42  # back to one that lacks "third"
            last = await node.connect("SSL", client_context())
            assert serial_of(last) == serial_of(third)
            for talk in (old, new, third, last):
                await served(talk)
                talk.close()
            admin.close()

    run(scenario())


def test_what_was_altered_before_the_start_is_in_force_after_it(tmp_path: Path) -> None:
    location = written(tmp_path, "new.pem", authority().issue("localhost", now_ms(), hosts=HOSTS).pem)

    async def scenario(change: bool) -> str:
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path)) as node:
            if change:
                admin = await node.connect("PLAINTEXT")
                assert await alter(admin, {LOCATION: location}) == 0
                admin.close()
            talk = await node.connect("SSL", client_context())
            serial = serial_of(talk)
            talk.close()
            return serial

    first = asyncio.run(scenario(change=True))
    assert asyncio.run(scenario(change=False)) == first


def test_who_does_not_shake_hands_in_time_is_cut(tmp_path: Path, caplog: Any) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with secured_node(tmp_path, {"SSL": "SSL"}, tls_settings(tmp_path), clock) as node:
            good = await node.connect("SSL", client_context())
            await served(good)
            talk = await node.connect("SSL")
            talk.writer.write(_client_hello()[:20])
            await until(lambda: len(node.node.server.sockets(1).connections) == 2)
            clock.advance(admission.TIME_TO_AUTHENTICATE_MS)
            node.node.cluster.runtime.timers.run_due()
            with contextlib.suppress(ConnectionResetError):  # where what it said was not read yet
                assert await talk.closed_by_broker()
            await served(good)
            good.close()

    run(scenario())
    assert "it did not authenticate" in caplog.text


def test_a_broker_without_a_usable_key_does_not_start(tmp_path: Path) -> None:
    from pykbroker.process.log_directories import StartFailed

    async def scenario() -> None:
        async with secured_node(tmp_path, {"SSL": "SSL"}, {"ssl.keystore.type": "PEM"}):
            pass

    with pytest.raises(StartFailed, match=r"listener SSL \(SSL\): TLS needs a key"):
        run(scenario())
