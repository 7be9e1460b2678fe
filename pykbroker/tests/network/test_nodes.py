"""Connections to other nodes: a broker of ours, and servers that speak something else."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.network.nodes import NodeConnections
from pykbroker.quorum.observer import Address
from pykbroker.runtime.waits import Deferred
from pykbroker.security.client.settings import client_security
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import ended, running_broker
from pykbroker.tests.kit.secured import sasl_settings, secured_node, tls_settings
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.api_versions import ApiVersionsResponse
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse
from pykbroker.wire.messages.vote import VoteRequest, VoteResponse
from pykbroker.wire.records import Record, encode_batch

#: A guard against waiting for ever; what is about the limit itself has a short one.
_LONG_MS, _SHORT_MS = 60_000, 50


async def failure(wait: Deferred[Any]) -> KafkaError:
    with pytest.raises(KafkaError) as failed:
        await ended(wait)
    return failed.value


def nodes(**security: str) -> NodeConnections:
    settings = {name.replace("_", "."): value for name, value in security.items()}
    made = client_security(settings, lambda: 0, lambda: "nonce")
    return NodeConnections(asyncio.get_running_loop(), "test", lambda: made)


def metadata(asked: NodeConnections, address: Address, limit_ms: float = _LONG_MS) -> Deferred[MetadataResponse]:
    return asked.ask(address, MetadataRequest([]), MetadataResponse, limit_ms)


def test_requests_wait_for_the_handshake_and_are_answered_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as running:
            host, port = running.node.addresses()[1].split(":")
            asked = nodes()
            waits = [metadata(asked, Address(host, int(port))) for _ in range(3)]
            answers = [await ended(wait) for wait in waits]
            assert [each.brokers[0].port for each in answers] == [int(port)] * 3
            assert len(asked._connections) == 1
            unknown = await failure(asked.ask(Address(host, int(port)), VoteRequest(), VoteResponse, _LONG_MS))
            assert unknown.code is ErrorCode.UNSUPPORTED_VERSION
            too_new = asked.ask(Address(host, int(port)), MetadataRequest([]), MetadataResponse, _LONG_MS, 99)
            assert (await failure(too_new)).code is ErrorCode.UNSUPPORTED_VERSION
            assert (await ended(metadata(asked, Address(host, int(port))))).brokers
            asked.close()

    asyncio.run(scenario())


def test_a_node_that_is_not_there() -> None:
    async def scenario() -> None:
        asked = nodes()
        address = Address("127.0.0.1", free_ports(1)[0])
        error = await failure(metadata(asked, address))
        assert error.code is ErrorCode.NETWORK_EXCEPTION
        assert error.message.startswith(f"{address} is not reached: ")
        asked.close()

    asyncio.run(scenario())


@asynccontextmanager
async def server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[Address]:
    """A server that serves each connection so, and closes them in the end."""
    writers: list[asyncio.StreamWriter] = []

    async def noted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await serve(reader, writer)

    listening = await asyncio.start_server(noted, "127.0.0.1", 0)
    try:
        yield Address(*listening.sockets[0].getsockname()[:2])
    finally:
        listening.close()
        for writer in writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del writer
    with suppress(ConnectionError):
        await reader.read()


def answering(
    frames: Callable[[int], bytes],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """To the first request, with bytes for its correlation id; then silence."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = struct.unpack(">i", await reader.readexactly(4))[0]
        request = await reader.readexactly(size)
        writer.write(frames(struct.unpack_from(">i", request, 4)[0]))
        await silence(reader, writer)

    return serve


def frame(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def agreed(correlation_id: int) -> bytes:
    out = bytearray(struct.pack(">i", correlation_id))
    ApiVersionsResponse().encode(out, 4)
    return frame(bytes(out))


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        pytest.param(lambda at: b"HTTP/1.1 400 Bad Request\r\n", "does not speak Kafka's protocol", id="HTTP"),
        pytest.param(lambda at: b"\xff\xff\xff\xff", "does not speak Kafka's protocol", id="a negative length"),
        pytest.param(lambda at: b"\x7f\xff\xff\xff", "does not speak Kafka's protocol", id="a length beyond all"),
        pytest.param(lambda at: frame(b""), "no answer", id="nothing"),
        pytest.param(lambda at: frame(struct.pack(">i", at)), "no answer", id="an answer that ends"),
        pytest.param(
            lambda at: frame(struct.pack(">ih", at, 0) + b"\xff" * 9), "no answer", id="a list without an end"
        ),
        pytest.param(lambda at: agreed(at + 1), "where 1 was expected", id="another correlation id"),
        pytest.param(lambda at: agreed(at) + agreed(at), "what was not asked", id="two answers"),
    ],
)
def test_what_is_no_answer(frames: Callable[[int], bytes], why: str) -> None:
    """The connection ends, and all that was asked on it."""

    async def scenario() -> None:
        async with server(answering(frames)) as address:
            asked = nodes()
            waits = [asked.ask(address, VoteRequest(), VoteResponse, _LONG_MS) for _ in range(2)]
            errors = [await failure(wait) for wait in waits]
            if "not asked" in why:  # what it offers has no Vote; the answer beyond that ends the connection
                assert {each.code for each in errors} == {ErrorCode.UNSUPPORTED_VERSION}
                assert not any(each.usable for each in asked._connections[address])
            else:
                assert {each.code for each in errors} == {ErrorCode.NETWORK_EXCEPTION}
                assert why in errors[0].message
            asked.close()

    asyncio.run(scenario())


def test_a_node_that_does_not_answer_in_time() -> None:
    async def scenario() -> None:
        async with server(silence) as address:
            asked = nodes()
            error = await failure(metadata(asked, address, _SHORT_MS))
            assert error.message == f"{address} is not reached: it did not answer within 50 ms"
            (first,) = asked._connections[address]
            assert not first.usable
            await failure(metadata(asked, address, _SHORT_MS))
            assert first not in asked._connections[address]
            asked.close()

    asyncio.run(scenario())


def test_what_waits_at_a_node_and_is_abandoned_holds_nothing_up(tmp_path: Path) -> None:
    """Of two such requests the second does, until it is answered: there are no more than two connections."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as running:
            await ended(running.cluster.controller.create_topics([NewTopic("t")]))
            topic_id = running.cluster.metadata.image.topics["t"].id
            host, port = running.node.addresses()[1].split(":")
            asked, address = nodes(), Address(host, int(port))

            def waiting() -> Deferred[FetchResponse]:
                topic = FetchTopic(topic_id=topic_id, partitions=[FetchPartition(0, partition_max_bytes=1000)])
                request = FetchRequest(max_wait_ms=_LONG_MS, min_bytes=1, topics=[topic])
                return asked.ask(address, request, FetchResponse, _LONG_MS, 13)

            first = waiting()
            first.abandon()
            assert (await ended(metadata(asked, address))).brokers
            assert not first.done
            second = waiting()
            second.abandon()
            behind = metadata(asked, address)
            partition = running.cluster.partition("t", 0)
            assert partition is not None
            partition.append_at_once(memoryview(bytearray(encode_batch([Record(value=b"x")]))))
            assert (await ended(behind)).brokers
            assert first.done
            assert len(asked._connections[address]) == 2
            asked.close()

    asyncio.run(scenario())


def test_what_is_asked_when_it_is_closed() -> None:
    async def scenario() -> None:
        async with server(silence) as address:
            asked = nodes()
            wait = metadata(asked, address)
            asked.close()
            assert "no longer needed" in (await failure(wait)).message

    asyncio.run(scenario())


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username=alice password={};"


def test_another_node_takes_the_place_of_one_that_is_silent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(silence) as silent, running_broker(tmp_path) as running:
            host, port = running.node.addresses()[1].split(":")
            leads = Address(host, int(port))
            asked = nodes()
            lost, kept = metadata(asked, silent), metadata(asked, leads)
            asked.leave_others(leads)
            assert (await failure(lost)).message == f"{silent} is not reached: {leads} takes its place"
            assert (await ended(kept)).brokers
            assert (asked.versions_at(leads) or {})[MetadataRequest.API_KEY][1] == MetadataRequest.VERSIONS[1]
            assert asked.versions_at(silent) is asked.versions_at(None) is None
            asked.close()

    asyncio.run(scenario())


def test_it_signs_in(tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = {**tls_settings(tmp_path), **sasl_settings("sasl_ssl")}
        async with secured_node(tmp_path, {"SASL_SSL": "SASL_SSL"}, settings) as node:
            address = Address("localhost", node.ports["SASL_SSL"])
            security = {
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "PLAIN",
                "ssl_truststore_type": "PEM",
                "ssl_truststore_location": settings["ssl.truststore.location"],
            }
            asked = nodes(**security, sasl_jaas_config=PLAIN.format("secret"))
            assert (await ended(metadata(asked, address))).brokers
            asked.close()
            refused = nodes(**security, sasl_jaas_config=PLAIN.format("wrong"))
            assert "Authentication failed" in (await failure(metadata(refused, address))).message
            refused.close()
            other = nodes(**{**security, "sasl_mechanism": "SCRAM-SHA-512"}, sasl_jaas_config=SCRAM_512)
            has = (await failure(metadata(other, address))).message
            assert "does not offer the SASL mechanism SCRAM-SHA-512; it has PLAIN, SCRAM-SHA-256" in has
            other.close()

    asyncio.run(scenario())


SCRAM_512 = "org.apache.kafka.common.security.scram.ScramLoginModule required username=alice password=secret;"
