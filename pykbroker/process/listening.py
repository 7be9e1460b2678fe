"""Opens listeners, computes advertised endpoints, and explains errors."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.listeners import Listener
from pykbroker.metadata.image import Endpoint
from pykbroker.network.server import Server
from pykbroker.network.sockets import Bind
from pykbroker.process.log_directories import StartFailed

if TYPE_CHECKING:
    from pykbroker.process.secured import SecuredListeners

_SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


async def open_sockets(
    server: Server, config: BrokerConfig, ids: list[int], secured: SecuredListeners | None
) -> dict[int, dict[str, int]]:
    """Open every listener of every broker; returns the ports: node id -> listener name -> port. ``secured`` are those with
    security.

    The first broker has the configured ports; each further one the ports after it, or free ones for port 0. Raises
    StartFailed.
    """
    ports: dict[int, dict[str, int]] = {}
    for position, node_id in enumerate(ids):
        ports[node_id] = {}
        for listener in config.listeners:
            port = listener.port + position * len(config.listeners) if listener.port else 0
            admission = None if secured is None else secured.admission(node_id, listener.name)
            bind = Bind(listener.name, listener.host or "", port, admission)
            try:
                ports[node_id][listener.name] = await server.listen(node_id, bind, config["socket.request.max.bytes"])
            except OSError as error:
                raise StartFailed(
                    f"cannot listen on {address(listener.host or '*', port)}: {why(error, listener.host, port)}"
                ) from error
    return ports


async def open_again(server: Server, ids: list[int]) -> None:
    """Open the sockets of brokers that were stopped, on their ports. Raises StartFailed."""
    for node_id in ids:
        sockets = server.sockets(node_id)
        if not sockets.is_open:
            try:
                await sockets.open_again()
            except OSError as error:
                raise StartFailed(f"broker {node_id} cannot listen on its ports again: {error}") from error


def why(error: OSError, host: str | None, port: int, option: str = "--listen HOST:PORT") -> str:
    """The message for an address that cannot be bound; ``option`` is the option that sets another."""
    if isinstance(error, socket.gaierror):
        return (
            f"the host {host} cannot be resolved ({error.strerror}). Name one that this machine knows, or an address."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"{host} is not an address of this machine. Listen on one that is, or on 0.0.0.0 (all of them), and name "
            "what clients use with --advertise HOST:PORT."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"this user may not open port {port}. Choose another one (those from 1024 on need no rights)."
    if error.errno == errno.EADDRINUSE:
        return (
            f"the port is in use. If another broker runs there, stop it or choose another port with {option} "
            "(port 0 picks a free one)."
        )
    return f"{error.strerror or error}. Choose another address with {option}."


def advertised(config: BrokerConfig, position: int, ports: dict[str, int]) -> list[Endpoint]:
    """The advertised endpoints: advertised.listeners, with the bound port where it equals the listener's.

    Another port (a proxy's, for instance) is the first broker's; each further one has the port after it, as for listeners.
    """
    opened = {listener.name: listener for listener in config.listeners}
    endpoints = []
    for listener in config.advertised_listeners:
        port = listener.port + position * len(config.listeners)
        if config["advertised.listeners"] is None or listener.port == opened[listener.name].port:
            port = ports[listener.name]
        endpoints.append(
            Endpoint(listener.name, reachable(listener), port, _SECURITY_PROTOCOL_IDS[listener.security_protocol])
        )
    return endpoints


def reachable(listener: Listener) -> str:
    """The host under which clients of this machine reach a listener: localhost for one on all addresses."""
    if listener.host is None or is_everywhere(listener.host):
        return "localhost"
    return listener.host


def is_everywhere(host: str | None) -> bool:
    """Whether a listener on this host listens on all addresses."""
    return host in (None, "", "0.0.0.0", "::")  # noqa: S104 - not bound here


def address(host: str, port: int) -> str:
    """host:port, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
