"""The network between hosts: TCP connections that are slow, held up by partitions, and lost."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pykbroker.worlds.refusals import check_client
from pykbroker.worlds.tape import magnitude
from pykbroker.worlds.transport import Connection, End

if TYPE_CHECKING:
    from pykbroker.worlds.simulator import Host, Simulator

#: How long a system tries to connect to a machine that does not answer.
_CONNECT_S: Final = 127.0
_FIRST_FREE_PORT: Final = 32768


class Weather:
    """How the network behaves, for all connections made from now on. Latencies in seconds, shares between 0 and 1."""

    def __init__(self) -> None:
        #: The usual latency of a segment, one way.
        self.latency_s = 0.0005
        #: The share of segments that take longer, up to ``longest_s``.
        self.slow = 0.02
        self.longest_s = 2.0
        #: The share of segments with which a connection is lost, and the segment with it.
        self.lost = 0.0


class Listener(asyncio.AbstractServer):
    """A listening port of a host."""

    def __init__(
        self, network: Network, host: Host, factory: Callable[[], Any], places: Sequence[tuple[str, int]]
    ) -> None:
        self.host = host
        self.factory = factory
        self.places = list(places)
        self.serving = False
        self._network = network

    @property
    def sockets(self) -> tuple[Any, ...]:
        """A world has none."""
        return ()

    async def start_serving(self) -> None:
        self.serving = True
        for place in self.places:
            self._network.listeners[place] = self

    async def serve_forever(self) -> None:
        await self.start_serving()
        await self.host.loop.create_future()

    def is_serving(self) -> bool:
        return self.serving

    def close(self) -> None:
        self.serving = False
        for place in self.places:
            if self._network.listeners.get(place) is self:
                del self._network.listeners[place]

    async def wait_closed(self) -> None:
        """It is closed at once."""

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.host.loop

    def close_clients(self) -> None:
        """Their protocols close them."""


class Network:
    """See the module. A port is at a name; what hosts call themselves is the name that their clients connect to."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.weather = Weather()
        self.listeners: dict[tuple[str, int], Listener] = {}
        #: Connections that have not ended, in the order of their beginning.
        self.connections: dict[Connection, None] = {}
        #: Names of hosts between which segments are held up, from the first to the second.
        self._cut: dict[tuple[str, str], int] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._port = _FIRST_FREE_PORT
        #: What hosts are called, and what they listen as.
        self.names: set[str] = set()

    # ---- listening and connecting --------------------------------------------------------------------------------------

    def free_port(self) -> int:
        """A port that nobody uses."""
        self._port += 1
        return self._port

    def listen(self, host: Host, factory: Callable[[], Any], names: list[str], port: int, *, start: bool) -> Listener:
        """Listen at a port; names of this machine (none, localhost, 0.0.0.0) are the host's own."""
        own = {"", "localhost", "127.0.0.1", "0.0.0.0", "::"}  # noqa: S104 - not bound here
        port = port or self.free_port()
        places = [(host.name if name in own else name, port) for name in names]
        self.names.update(name for name, _ in places)
        for place in places:
            if place in self.listeners:
                raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        listener = Listener(self, host, factory, places)
        if start:
            listener.serving = True
            self.listeners.update(dict.fromkeys(places, listener))
        return listener

    def addresses(self, name: str, port: int) -> list[Any]:
        """What a name resolves to: itself. Raises gaierror for one that no host of the world has."""
        self._check_known(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (name, port))]

    def _check_known(self, name: str) -> None:
        """Raise gaierror for a name that no host of the world has."""
        if name not in self.names:
            raise socket.gaierror(
                socket.EAI_NONAME,
                f"no host of this world is called {name!r}, and nothing outside of it is reached: run what answers there as "
                f"world.host(..., name={name!r})",
            )

    async def connect(self, host: Host, factory: Callable[[], Any], name: str, port: int) -> tuple[End, Any]:
        """Connect a host. Raises OSError as a system does: refused, unreachable, unknown."""
        loop = host.loop
        name, target, there = await self._reached(host, name, port)
        count = self._counts[host.name, target] = self._counts.get((host.name, target), 0) + 1
        label = f"{host.name}#{count}", target
        connection = Connection(self, label, (host.name, self.free_port()), (name, port))
        if there is None or not there.serving:
            await self._refuse(name, port)
        assert there is not None
        protocol = factory()
        check_client(protocol)
        opened = loop.create_future()
        connection.open(host, protocol, there, opened)
        await opened
        return connection.client, protocol

    async def check_answers(self, host: Host, name: str, port: int) -> None:
        """Raise OSError as a system does where nothing answers."""
        name, _, there = await self._reached(host, name, port)
        if there is None or not there.serving:
            await self._refuse(name, port)

    async def _reached(self, host: Host, name: str, port: int) -> tuple[str, str, Listener | None]:
        """What a name is, the host that it is of, and who listens there, when no partition is between. Raises OSError."""
        if name in ("localhost", "127.0.0.1"):
            name = host.name
        self._check_known(name)
        there = self.listeners.get((name, port))
        target = there.host.name if there is not None else name
        if self.is_cut(host.name, target) or self.is_cut(target, host.name):
            self.simulator.note(host.name, "connect", f"{name}:{port} does not answer")
            await self._heals(host, target)
            there = self.listeners.get((name, port))
        return name, target, there

    async def _refuse(self, name: str, port: int) -> NoReturn:
        await asyncio.sleep(2 * self.weather.latency_s)
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {(name, port)}")

    async def _heals(self, host: Host, target: str) -> None:
        """Wait until a partition is over, for as long as a system tries to connect. Raises TimeoutError."""
        waited, pause = 0.0, 1.0
        while self.is_cut(host.name, target) or self.is_cut(target, host.name):
            if waited >= _CONNECT_S:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            await asyncio.sleep(pause)
            waited += pause
            pause *= 2

    # ---- partitions and losses -----------------------------------------------------------------------------------------

    def is_cut(self, sender: str, receiver: str) -> bool:
        """Whether segments from one host to another are held up."""
        return bool(self._cut) and self._cut.get((sender, receiver), 0) > 0

    def cut(self, sender: str, receiver: str) -> None:
        """Hold up what one host sends to another from now on."""
        self._cut[sender, receiver] = self._cut.get((sender, receiver), 0) + 1
        self.simulator.note(sender, "partition", f"nothing of {sender} reaches {receiver}")

    def heal(self, sender: str, receiver: str) -> None:
        """Let through again what one host sends to another, and what was held up."""
        self._cut[sender, receiver] = self._cut.get((sender, receiver), 0) - 1
        self.simulator.note(sender, "partition", f"{sender} reaches {receiver} again")
        if not self.is_cut(sender, receiver):
            for connection in list(self.connections):
                connection.release(sender, receiver)

    def host_died(self, host: Host, *, silently: bool = False) -> None:
        """Its listeners and connections end with it; ``silently``, as a machine's does, their peers are told nothing."""
        for listener in set(self.listeners.values()):
            if listener.host is host:
                listener.close()
        for connection in list(self.connections):
            connection.end_died(host, silently=silently)

    def machine_up(self, name: str) -> None:
        """A machine is up (again)."""
        for connection in list(self.connections):
            connection.machine_up(name)

    def latency(self, slow: int) -> float:
        """The latency of a segment, for a choice of its tape."""
        weather = self.weather
        return magnitude(slow, weather.latency_s, weather.longest_s) if slow else weather.latency_s
