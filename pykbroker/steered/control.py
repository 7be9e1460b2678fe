"""The control socket: a process is told by it what HTTP's interface tells it, too (``verbs/table.py``).

A Unix socket in the log directory, accessible only to the user of the process. A request is one line of JSON,
``{"command": "stopBroker", "id": 2}``, and so is the answer: the verb's, here ``{"brokers": [...]}``, or ``{"error": "..."}``.
``{"command": "longestTurn"}`` is answered ``{"longest_turn_ms": 1.5}``, the longest turn of the event loop since the last such
request; the first one starts the measurement and is answered 0. It belongs to the process, and outlives a reset.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykbroker.process.life import LifeEnded
from pykbroker.storage.names import CONTROL_SOCKET
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.steered.request_log import RequestLog
    from pykbroker.steered.steering import Steering

log = logging.getLogger(__name__)

SOCKET = CONTROL_SOCKET
#: The longest path in a socket's address, in bytes; the kernel's limit is 108 with the final zero.
_LONGEST_PATH = 107
#: A tape of chaos is the longest that is said.
_LONGEST_LINE = 1024 * 1024
_SHOWN = 200
#: Of the socket's file: its owner connects.
_MODE = 0o600


class Control:
    """The server on the control socket in a directory. ``steering`` is called with the first request, here or over HTTP."""

    def __init__(self, directory: Path, steering: Callable[[], Steering]) -> None:
        self._make_steering = steering
        self._steering: Steering | None = None
        self._path = directory / SOCKET
        self._server: asyncio.Server | None = None

    def steering(self) -> Steering:
        """What can be steered, created by the first call."""
        if self._steering is None:
            self._steering = self._make_steering()
        return self._steering

    def request_log(self) -> RequestLog | None:
        """What notes requests, None while they are not recorded."""
        steering = self._steering
        return steering.requests if steering is not None and steering.noting else None

    async def open(self) -> None:
        """Listen. If the file system supports no sockets, a warning is logged and the process runs without one."""
        try:
            with reachable(self._path) as address:
                listening = _bind(address)
            self._server = await asyncio.start_unix_server(self._answer, sock=listening, limit=_LONGEST_LINE)
            log.debug("Control socket %s is open", self._path)
        except OSError as error:
            log.warning(
                "Control socket %s cannot be opened (%s): brokers cannot be stopped one by one", self._path, error
            )

    async def close(self) -> None:
        """Listen no more, and steer no more. Harmless when repeated."""
        if self._server is not None:
            self._server.close()
            self._server = None
            if self._path.is_socket():
                self._path.unlink(missing_ok=True)
        if self._steering is not None:
            self._steering.close()
            self._steering = None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await self._answered(reader)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        except (ValueError, OSError) as error:  # the client is gone
            log.warning("Request on the control socket failed: %s", error)
        finally:
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader) -> dict[str, Any]:
        try:
            line = await reader.readline()
        except ValueError:
            return {"error": f"a command has at most {_LONGEST_LINE} bytes"}
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return {"error": "a command is one line of JSON"}
        return await self._carry_out(request)

    async def _carry_out(self, request: Any) -> dict[str, Any]:
        from pykbroker.steered.call import VerbCall
        from pykbroker.steered.refusal import VerbRefused
        from pykbroker.steered.verbs.table import VERBS

        try:
            command = request.get("command") if isinstance(request, dict) else None
            if command == "longestTurn":
                turns = self.steering().cluster().runtime.turns
                turns.measure()
                return {"longest_turn_ms": turns.restart() * 1000}
            if not isinstance(command, str) or command not in VERBS:
                return {"error": f"{str(request)[:_SHOWN]} is not a command of this version"}
            said = {name: value for name, value in request.items() if name != "command"}
            path = {name: str(value) for name, value in said.items()}
            return await VERBS[command](self.steering(), VerbCall(path=path, body=said))
        except (VerbRefused, LifeEnded, KafkaError, OSError) as error:
            return {"error": str(error)}


@contextlib.contextmanager
def reachable(path: Path) -> Iterator[str]:
    """An address for the socket at a path; a long path is addressed by its directory's descriptor. Raises OSError."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def _bind(address: str) -> socket.socket:
    """A socket that only this user can open. One left by a killed process is replaced, which is safe since the log directory is
    locked.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if Path(address).is_socket():
            Path(address).unlink()
        # Not by the umask, which is the process's: other threads create files meanwhile, and open sockets of other brokers.
        with contextlib.suppress(OSError):
            os.fchmod(listening.fileno(), _MODE)  # Linux creates the file with the mode of the socket
        listening.bind(address)
        Path(address).chmod(_MODE)  # elsewhere
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening
