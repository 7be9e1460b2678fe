"""The HTTP side of a node: opened once its brokers are served, closed before they stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from aiohttp import web

from pykbroker.http import health
from pykbroker.http.connection import at_work
from pykbroker.http.console import page
from pykbroker.http.guard import add_headers, guard, own_names, problem
from pykbroker.http.metrics.brokers import BrokerCollector
from pykbroker.http.metrics.certificates import CertificateCollector
from pykbroker.http.metrics.client_metrics import ClientMetricCollector
from pykbroker.http.metrics.connections import ConnectionCollector
from pykbroker.http.metrics.groups import GroupCollector
from pykbroker.http.metrics.lag import LoopLag
from pykbroker.http.metrics.meter import RequestMeter
from pykbroker.http.metrics.partitions import PartitionCollector
from pykbroker.http.metrics.process import OwnProcessCollector
from pykbroker.http.metrics.quotas import QuotaCollector
from pykbroker.http.metrics.requests import RequestCollector
from pykbroker.http.metrics.scrape import NoCluster, Scrapes
from pykbroker.http.metrics.sharing import ShareCollector
from pykbroker.http.metrics.storage import StorageCollector
from pykbroker.http.metrics.transactions import TransactionCollector
from pykbroker.http.server import WebServer
from pykbroker.process.life import BETWEEN
from pykbroker.requests.pipeline import Place
from pykbroker.runtime.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.http.console.console import Console
    from pykbroker.http.console.registry import ConsoleSchemas
    from pykbroker.http.schema_registry import SchemaRegistrySide
    from pykbroker.process.node import Node
    from pykbroker.steered.http_options import HttpOptions
    from pykbroker.steered.steering import Steering

log = logging.getLogger(__name__)

#: Most connections at once: descriptors are needed for clients and logs.
_MOST_CONNECTIONS: Final = 32
_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class HttpSide:
    """See the module. It belongs to the loop of the node. ``registry`` is the schema registry of this process, if there is one."""

    def __init__(
        self,
        node: Node,
        options: HttpOptions,
        steering: Callable[[], Steering],
        registry: SchemaRegistrySide | None = None,
    ) -> None:
        self._node = node
        self._registry = registry
        self._options = replace(options, names=options.names | own_names(node.config, socket.gethostname()))
        self._make_steering = steering
        self._steering: Steering | None = None
        self._console: Console | None = None
        clock = self._clock = SystemClock()  # the system clock, since a test's may stand still
        self._meter = RequestMeter(clock)
        self._lag = LoopLag(clock)
        self._brokers, self._storage = BrokerCollector(), StorageCollector()
        self._scrapes = Scrapes(
            lambda: node.current,
            [
                *(
                    RequestCollector(self._meter, clock),
                    ConnectionCollector(lambda node_id: node.server.sockets(node_id).connections),
                ),
                CertificateCollector(node.certificates_end),
                *(
                    QuotaCollector(node.limiting),
                    self._brokers,
                    PartitionCollector(),
                    GroupCollector(),
                    ShareCollector(),
                    TransactionCollector(),
                    self._storage,
                    ClientMetricCollector(),
                ),
                OwnProcessCollector(self._lag, clock),
            ],
            clock,
        )
        self._imported: set[str] = set()
        self._server: WebServer | None = None
        self._is_open = False
        self._leave: list[Callable[[], None]] = []

    async def open(self) -> None:
        """Listen, and start to count. Raises StartFailed if the address cannot be bound."""
        app = self._application()
        server = self._server = WebServer(app, self._options.patience_s, _MOST_CONNECTIONS)
        address = await server.open(self._options.host, self._options.port, "--http HOST:PORT")
        self._node.services["http"] = address
        self._is_open = True
        self._node.server.dispatcher.places.fill(Place.MEASURE, self._meter.around)
        self._leave = [self._node.lifetimes.follow(each.follow) for each in (self._brokers, self._storage)]
        self._lag.start()
        log.info("HTTP on %s: /console, /health, /ready, /metrics, /api/v1", address)

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[at_work, guard(self._options, page.PATHS)])
        app.on_response_prepare.append(add_headers)
        app.router.add_get("/health", health.health)
        app.router.add_get("/ready", health.ready(lambda: self._node.current))
        app.router.add_get("/metrics", self._metrics)
        app.router.add_route("*", "/api/v1/{path:.*}", self._api)
        app.router.add_route("*", "/console/api/{path:.*}", self._ask_console)
        app.router.add_get("/console/{file:.*}", page.file)
        for path in ("/", "/console"):
            app.router.add_get(path, page.home)
        return app

    async def _ask_console(self, request: web.Request) -> web.StreamResponse:
        await self._import_in_thread("pykbroker.http.console.router")
        from pykbroker.http.console import console, registry, router

        if self._console is None:
            address, own = self._options.schema_registry, self._registry
            known: ConsoleSchemas | None = None if address is None else registry.RemoteRegistry(address)
            if known is None and own is not None:
                known = registry.OwnRegistry(own)
            self._console = console.Console(self._node, self._meter, self._clock, known)
        return await router.answer(request, self._console)

    async def _api(self, request: web.Request) -> web.StreamResponse:
        await self._import_in_thread("pykbroker.http.api.router", "pykbroker.steered.steering")
        from pykbroker.http.api import router

        if self._steering is None:
            if self._node.current is None:
                return problem(503, BETWEEN)
            self._steering = self._make_steering()
        return await router.answer(request, self._steering)

    async def _import_in_thread(self, *modules: str) -> None:
        """Import the API or the console in a thread: it takes a tenth of a second, and clients are served meanwhile."""
        for name in modules:
            if name not in self._imported:
                await asyncio.to_thread(import_module, name)
                self._imported.add(name)

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        await self._import_in_thread("prometheus_client")
        try:
            chunks = await self._scrapes.page()
        except NoCluster:
            return problem(503, BETWEEN)
        response = web.StreamResponse(headers={"Content-Type": _CONTENT_TYPE})
        response.content_length = sum(map(len, chunks))
        await response.prepare(request)
        for chunk in chunks:
            await asyncio.sleep(0)
            await response.write(chunk)  # returns at once while the reader keeps up
        await response.write_eof()
        return response

    async def close(self) -> None:
        """Close connections and stop counting. Harmless if the side was not opened."""
        server, self._server = self._server, None
        if self._is_open and server is not None:
            self._is_open = False
            server.stop_listening()
            self._lag.stop()
            self._node.server.dispatcher.places.empty(Place.MEASURE)
            self._node.services.pop("http", None)
            while self._leave:
                self._leave.pop()()
            await self._scrapes.stop()
            if self._console is not None:
                await self._console.close()
                self._console = None
            self._steering = None
        if server is not None:
            await server.close()
