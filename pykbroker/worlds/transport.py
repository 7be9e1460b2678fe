"""A TCP connection: two ends, each of them an asyncio transport, and segments in order on both ways."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

if TYPE_CHECKING:
    from pykbroker.worlds.network import Listener, Network
    from pykbroker.worlds.simulator import Host

#: Bytes under way on a way before its sender is paused, and when it goes on.
_HIGH: Final = 256 * 1024
_LOW: Final = 64 * 1024

_FIN: Final = b""
_RST: Final = None


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(
        self,
        connection: Connection,
        host: Host,
        protocol: Any,
        addresses: tuple[Any, Any],
        share: tuple[str, float, float],
    ) -> None:
        super().__init__({"sockname": addresses[0], "peername": addresses[1]})
        self.host = host
        self.peer: End
        self._connection = connection
        self._protocol = protocol
        self._buffered = isinstance(protocol, asyncio.BufferedProtocol)
        #: Whether its machine is down, and whether something came in meanwhile, which is sent again.
        self._gone = False
        self._missed = False
        #: Whether the protocol was told of the connection.
        self.made = False
        self._closing = False
        #: Whether the protocol was told of the end, or will be with the next turn.
        self.lost = False
        self._reading = True
        self._inbox: deque[bytes | None] = deque()
        self._under_way = 0
        self._paused_writing = False
        self._held: list[bytes | None] = []
        self._last_arrival = 0.0
        name, slow, lost = share
        tape = host.simulator.tape
        self._slow = tape.stream(f"{name} slow", slow)
        self._losses = tape.stream(f"{name} lost", lost) if lost else None

    def make(self, protocol: Any) -> None:
        """Tell the protocol of the connection."""
        self.set_protocol(protocol)
        self.made = True
        protocol.connection_made(self)

    # ---- the transport's interface -------------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self._closing or self.lost or not data:
            return
        self._send(bytes(data))
        if self._under_way > _HIGH and not self._paused_writing:
            self._paused_writing = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(bytes(each) for each in list_of_data))

    def get_write_buffer_size(self) -> int:
        return max(0, self._under_way - _LOW) if self._paused_writing else 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return _LOW, _HIGH

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The limits are the network's."""

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self._closing or self.lost

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        self._buffered = isinstance(protocol, asyncio.BufferedProtocol)

    def get_protocol(self) -> Any:
        return self._protocol

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            if self._inbox:
                self._soon(self._read)

    def is_reading(self) -> bool:
        return self._reading and not self.is_closing()

    def close(self) -> None:
        if not self._closing and not self.lost:
            self._closing = True
            self._send(_FIN)
            self._lose(None)

    def abort(self) -> None:
        if not self.lost:
            self._closing = True
            self._send(_RST)
            self._lose(None)

    # ---- sending -------------------------------------------------------------------------------------------------------

    def _send(self, segment: bytes | None) -> None:
        connection = self._connection
        network = connection.network
        if segment:
            self._under_way += len(segment)
            if self._losses is not None and self._losses.choose():
                network.simulator.note(
                    self.host.name, "lost", f"the connection to {self.peer.host.name} is lost, and what was sent"
                )
                connection.lose()
                return
        if self._held or network.is_cut(self.host.name, self.peer.host.name):
            self._held.append(segment)
            return
        self._depart(segment)

    def _depart(self, segment: bytes | None) -> None:
        simulator = self._connection.network.simulator
        slow = self._slow.choose()
        arrival = max(self._last_arrival, simulator.now + self._connection.network.latency(slow))
        self._last_arrival = arrival
        if slow and simulator.recording:
            simulator.events.append(
                (
                    simulator.now,
                    self.host.name,
                    "slow",
                    f"what is sent to {self.peer.host.name} takes {(arrival - simulator.now) * 1000:.1f} ms",
                )
            )
        simulator.at(arrival, self.peer.arrive, (segment,))

    def release(self) -> None:
        """Send what a partition held up."""
        held, self._held = self._held, []
        for segment in held:
            self._depart(segment)

    def taken(self, size: int) -> None:
        """The peer has read so many bytes."""
        self._under_way -= size
        if self._paused_writing and self._under_way <= _LOW and not self.lost:
            self._paused_writing = False
            self._soon(self._protocol.resume_writing)

    # ---- receiving -----------------------------------------------------------------------------------------------------

    def arrive(self, carried: tuple[bytes | None]) -> None:
        """A segment comes in."""
        (segment,) = carried
        if segment:
            self._connection.network.simulator.hash(crc32(segment).to_bytes(4, "little"))
        if self.lost:
            if self._gone:
                self._missed = self._missed or bool(segment)
            elif segment:
                self.peer.arrive_reset()  # a closed port answers data so
            return
        self._inbox.append(segment)
        if self._reading and len(self._inbox) == 1:
            self._soon(self._read)

    def arrive_reset(self) -> None:
        """A reset comes in, ahead of nothing."""
        if not self.lost and self.host.alive:
            self._inbox.append(_RST)
            self._soon(self._read)

    def _read(self) -> None:
        """Hand what has come in to the protocol, in its turn."""
        while self._inbox and self._reading and not self.lost:
            segment = self._inbox.popleft()
            if segment is _RST:
                self._lose(ConnectionResetError("Connection reset by peer"))
            elif segment == _FIN:
                if not self._protocol.eof_received() and not self.lost:
                    self.close()
            elif segment is not None:
                self.peer.taken(len(segment))
                self._hand_over(segment)

    def _hand_over(self, segment: bytes) -> None:
        if not self._buffered:
            self._protocol.data_received(segment)
            return
        at = 0
        while at < len(segment) and not self.lost:
            buffer = self._protocol.get_buffer(-1)
            size = min(len(buffer), len(segment) - at)
            buffer[:size] = segment[at : at + size]
            at += size
            self._protocol.buffer_updated(size)
            if at < len(segment) and not self._reading:
                self._inbox.appendleft(segment[at:])
                return

    # ---- the end -------------------------------------------------------------------------------------------------------

    def _soon(self, callback: Any, *args: Any) -> None:
        self.host.loop.call_soon(callback, *args)

    def _lose(self, error: Exception | None) -> None:
        if not self.lost:
            self.lost = True
            self._inbox.clear()
            self._connection.forget_if_over()
            if self.made:
                self._soon(self._protocol.connection_lost, error)

    def come_up(self) -> None:
        """Its machine is up again, and knows nothing of this connection."""
        self._gone = False
        if self._missed:
            self.peer.arrive_reset()

    def reset(self) -> None:
        """The connection breaks at this end."""
        self._lose(ConnectionResetError("Connection reset by peer"))

    def vanish(self, *, silently: bool) -> None:
        """Its process is gone, ``silently`` with its machine: nobody is told here."""
        self._gone = silently and not self.lost
        self.lost = True
        self._inbox.clear()


class Connection:
    """One connection, from a client's host to a listener."""

    def __init__(self, network: Network, label: tuple[str, str], near: tuple[str, int], far: tuple[str, int]) -> None:
        self.network = network
        self._label = label
        self._near, self._far = near, far
        self.client: End
        self.server: End

    def open(self, host: Host, protocol: Any, listener: Listener, opened: asyncio.Future[None]) -> None:
        """Open it: both protocols are told, and ``opened`` is done, when the segments that it takes are there."""
        weather = self.network.weather
        client, server = self._label
        self.client = End(
            self, host, protocol, (self._near, self._far), (f"{client} -> {server}", weather.slow, weather.lost)
        )
        self.server = End(
            self, listener.host, None, (self._far, self._near), (f"{server} -> {client}", weather.slow, weather.lost)
        )
        self.client.peer, self.server.peer = self.server, self.client
        self.network.connections[self] = None
        simulator = self.network.simulator
        simulator.after(weather.latency_s, self._arrived, listener)
        simulator.after(2 * weather.latency_s, self._opened, (protocol, opened))

    def _arrived(self, listener: Listener) -> None:
        def accept() -> None:
            if not self.server.lost:
                self.server.make(listener.factory())

        listener.host.loop.call_soon(accept)

    def _opened(self, carried: tuple[Any, asyncio.Future[None]]) -> None:
        protocol, opened = carried

        def open_() -> None:
            if opened.done():  # nobody waits any more
                self.client.abort()
            elif self.client.lost:
                opened.set_exception(ConnectionResetError("Connection reset by peer"))
            else:
                self.client.make(protocol)
                opened.set_result(None)

        self.client.host.loop.call_soon(open_)

    def release(self, sender: str, receiver: str) -> None:
        """A partition is over on one way."""
        for end in (self.client, self.server):
            if (end.host.name, end.peer.host.name) == (sender, receiver):
                end.release()

    def lose(self) -> None:
        """Break it at both ends; what is under way is lost."""
        for end in (self.client, self.server):
            end.reset()

    def end_died(self, host: Host, *, silently: bool) -> None:
        """The process at one of its ends died."""
        for end in (self.client, self.server):
            if end.host is host:
                if not end.lost and not silently:
                    end._send(_RST)  # noqa: SLF001 - its system does
                end.vanish(silently=silently)
        self.forget_if_over()

    def machine_up(self, name: str) -> None:
        """A machine at one of its ends is up again."""
        for end in (self.client, self.server):
            if end.host.name == name:
                end.come_up()

    def forget_if_over(self) -> None:
        """Forget it when both ends are gone."""
        if self.client.lost and self.server.lost:
            self.network.connections.pop(self, None)
