"""Limits on connections, at the sockets of a running broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from pykbroker.controller.client_quotas import QuotaAlteration
from pykbroker.tests.kit.running import Client, RunningBroker, running_broker, until
from pykbroker.tests.kit.turns import counted
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

BROKER = 4
TWO_LISTENERS = {
    "listeners": "INNER://127.0.0.1:0,OUTER://127.0.0.1:0",
    "listener.security.protocol.map": "INNER:PLAINTEXT,OUTER:PLAINTEXT",
    "inter.broker.listener.name": "INNER",
}


class Limited:
    """A broker, and all who connected to it."""

    def __init__(self, broker: RunningBroker) -> None:
        self.node = broker.node
        self.sockets = broker.server.sockets(1)
        self._clients: list[Client] = []

    async def connect(self, listener: str | None = None, source: str = "127.0.0.1") -> Client:
        """From an address of this machine, to a listener (the first where none is named)."""
        listeners = self.node.summary()["brokers"][0]["listeners"]
        host, port = listeners[listener or next(iter(listeners))].split(":")
        self._clients.append(Client(*await asyncio.open_connection(host, int(port), local_addr=(source, 0))))
        return self._clients[-1]

    async def fares(self, listener: str | None = None, source: str = "127.0.0.1") -> bool:
        """Whether somebody who connects is served."""
        return await is_served(await self.connect(listener, source))

    def close(self) -> None:
        for each in self._clients:
            each.close()


async def is_served(client: Client) -> bool:
    """Whether it is answered; no, where it is closed instead."""
    try:
        await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    return True


async def alter(asking: Client, settings: Mapping[str, str], broker: str = "") -> None:
    configs = [AlterableConfig(name, 0, value) for name, value in settings.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, broker, configs)])
    answer = await asking.ask(request, 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0, answer


async def limit_rate(asking: Client, address: str | None, rate: float | None) -> None:
    change = OpData("connection_creation_rate", rate or 0, rate is None)
    entry = AlterClientQuotasRequestEntryData([EntityData("ip", address)], [change])
    answer = await asking.ask(AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse)
    assert answer.entries[0].error_code == 0, answer


def run(tmp_path: Path, settings: Mapping[str, str], scenario) -> None:
    async def main() -> None:
        async with running_broker(tmp_path, dict(settings)) as running:
            broker = Limited(running)
            try:
                await scenario(broker)
            finally:
                broker.close()

    asyncio.run(main())


def test_an_address_has_no_more_connections_than_it_may(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(broker: Limited) -> None:
        with caplog.at_level(logging.WARNING):
            first = await broker.connect()
            assert await is_served(first)
            for _ in range(2):
                assert not await broker.fares()
            others = [await broker.connect(source="127.0.0.2") for _ in range(3)]
            assert [await is_served(each) for each in others] == [True, True, False]
        assert [record.getMessage() for record in caplog.records] == [
            "Connections from 127.0.0.1 on listener PLAINTEXT are refused: its address already has the maximum of 1 connections",
            "Connections from 127.0.0.2 on listener PLAINTEXT are refused: its address already has the maximum of 2 connections",
        ]
        first.close()
        await until(lambda: len(broker.sockets.connections) == 2)
        assert await broker.fares()

    run(tmp_path, {"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "127.0.0.2:2"}, scenario)


def test_a_name_stands_for_its_address(tmp_path: Path) -> None:
    async def scenario(broker: Limited) -> None:
        assert await broker.fares()
        assert not await broker.fares()

    run(tmp_path, {"max.connections.per.ip.overrides": "localhost:1,nobody.invalid:0"}, scenario)


def test_names_of_one_address_have_quotas_of_their_own(tmp_path: Path) -> None:
    """Where one is removed the other holds."""

    def rates(broker: Limited) -> dict[str | None, int]:
        limiting = broker.node.limiting.connections
        assert limiting is not None
        return dict(limiting.brokers[1].quotas.limits.rate_per_address)

    async def scenario(broker: Limited) -> None:
        asking = await broker.connect()
        for name, rate in (("localhost", 7), (None, 9), ("127.0.0.1", 8)):
            await limit_rate(asking, name, rate)
        await until(lambda: rates(broker) == {"127.0.0.1": 8, None: 9})
        await limit_rate(asking, "127.0.0.1", None)
        assert rates(broker) == {"127.0.0.1": 7, None: 9}
        await limit_rate(asking, "localhost", None)
        assert rates(broker) == {None: 9}

    run(tmp_path, {}, scenario)


def test_a_quota_of_nobody_is_passed_over(tmp_path: Path) -> None:
    """No controller writes one; of the next ones nothing is missed."""

    async def scenario(broker: Limited) -> None:
        await limit_rate(await broker.connect(), "127.0.0.9", 3.0)
        cluster, limiting = broker.node.current, broker.node.limiting.connections
        assert cluster is not None
        assert limiting is not None
        entities = [(), (("ip", "127.0.0.9"),)]
        assert limiting._alter_rates(cluster.metadata.image, entities) == {"127.0.0.9"}

    run(tmp_path, {}, scenario)


def test_a_quota_of_thousands_is_altered_at_the_cost_of_one(tmp_path: Path) -> None:
    """In executed lines, and by each request of the quotas: 25 are altered in a turn."""

    async def scenario(broker: Limited) -> None:
        cluster, deltas = broker.node.cluster, []
        there = [(("ip", f"10.0.{number // 100}.{number % 100}"),) for number in range(2000)]
        there += [(("user", f"u-{number}"),) for number in range(2000)]
        keys = {"ip": "connection_creation_rate", "user": "request_percentage"}
        made = [QuotaAlteration(entity, [(keys[entity[0][0]], 5.0)]) for entity in there]
        await broker.node.lifetimes.outcome(
            cluster.controller.alter_client_quotas(made, frozenset(), validate_only=False)
        )
        cluster.metadata.subscribe(lambda _, delta: deltas.append(delta))
        asking = await broker.connect()
        await limit_rate(asking, "10.0.0.1", 6)
        with counted() as lines:
            broker.node.limiting._changed(cluster, cluster.metadata.image, deltas[-1])
        assert 0 < lines[0] < 8000  # mostly of the settings, which are read again; of all quotas it is ten times that

    run(tmp_path, {}, scenario)


def test_who_comes_to_a_full_listener_waits_until_one_has_gone(tmp_path: Path) -> None:
    async def scenario(broker: Limited) -> None:
        inside = [await broker.connect("OUTER") for _ in range(2)]
        assert all([await is_served(each) for each in inside])
        waiting = [asyncio.ensure_future(broker.fares("OUTER")) for _ in range(2)]
        assert await broker.fares("INNER")
        assert broker.sockets.count == 4, "one is accepted, and not let in"
        assert not any(each.done() for each in waiting)
        inside[0].close()
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert [each.done() for each in waiting].count(True) == 1
        inside[1].close()
        assert await asyncio.gather(*waiting) == [True, True]

    run(tmp_path, {**TWO_LISTENERS, "listener.name.outer.max.connections": "2"}, scenario)


def test_brokers_come_in_where_the_broker_is_full_and_who_is_idle_goes(tmp_path: Path) -> None:
    settings = {**TWO_LISTENERS, "max.connections": "2", "listener.name.inner.max.connections": "5"}

    async def scenario(broker: Limited) -> None:
        idle, busy = await broker.connect("OUTER"), await broker.connect("OUTER")
        for each in (busy, idle, busy):
            assert await is_served(each)
        assert await broker.fares("INNER")
        assert await idle.closed_by_broker()
        assert await is_served(busy)
        assert await broker.fares("INNER")
        assert await busy.closed_by_broker()
        assert await broker.fares("INNER")

    run(tmp_path, settings, scenario)


def test_limits_are_altered_while_connections_are_open(tmp_path: Path) -> None:
    async def scenario(broker: Limited) -> None:
        assert broker.node.limiting.connections is None
        idle, asking = await broker.connect(), await broker.connect()
        for each in (idle, asking):
            assert await is_served(each)
        await alter(asking, {"max.connections": "1"})
        assert await idle.closed_by_broker()
        waiting = asyncio.ensure_future(broker.fares())
        await until(lambda: broker.sockets.count == 2)
        assert not waiting.done()
        await alter(asking, {"max.connections": "5", "max.connections.per.ip": "3"})
        assert await waiting
        assert await broker.fares()
        assert not await broker.fares()
        await alter(asking, {"listener.name.plaintext.max.connections": "4", "max.connections.per.ip": "9"}, "1")
        assert await broker.fares()

    run(tmp_path, {}, scenario)


def test_connections_beyond_the_rate_come_in_later(tmp_path: Path) -> None:
    async def scenario(broker: Limited) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        clients = [await broker.connect() for _ in range(6)]
        assert all(await asyncio.gather(*map(is_served, clients)))
        assert loop.time() - began >= 0.6

    run(tmp_path, {"max.connection.creation.rate": "3", "quota.window.num": "2"}, scenario)


def test_who_connects_too_often_is_closed_after_a_while(tmp_path: Path) -> None:
    async def scenario(broker: Limited) -> None:
        asking = await broker.connect()
        await limit_rate(asking, "127.0.0.2", 1)
        assert await broker.fares(source="127.0.0.2")
        loop = asyncio.get_running_loop()
        began = loop.time()
        refused = await broker.connect(source="127.0.0.2")
        assert not await is_served(refused)
        assert loop.time() - began >= 0.5
        assert all([await broker.fares() for _ in range(3)])
        await limit_rate(asking, None, 2)
        assert all([await broker.fares(source="127.0.0.3") for _ in range(2)])
        assert not await broker.fares(source="127.0.0.3")

    run(tmp_path, {"quota.window.num": "2"}, scenario)


def test_a_client_that_waits_and_goes_takes_no_room(tmp_path: Path) -> None:
    async def scenario(broker: Limited) -> None:
        inside = await broker.connect()
        assert await is_served(inside)
        for _ in range(3):
            (await broker.connect()).close()
        inside.close()
        assert await broker.fares()

    run(tmp_path, {"max.connections": "1"}, scenario)


def test_limits_go_on_after_a_stop_and_a_new_beginning(tmp_path: Path) -> None:
    settings = {"max.connections": "1"}

    async def scenario(broker: Limited) -> None:
        assert await broker.fares()
        waiting = await broker.connect()
        await broker.node.brokers.stop(1)
        assert not await is_served(waiting)
        await broker.node.brokers.start(1)
        first = await broker.connect()
        assert await is_served(first)
        await broker.node.begin_again(lambda: (tmp_path / "a").rename(tmp_path / "b") and None)
        assert await first.closed_by_broker()
        assert await broker.fares()
        later = await broker.connect()
        await until(lambda: broker.sockets.count == 2)
        later.close()

    run(tmp_path / "a", settings, scenario)
