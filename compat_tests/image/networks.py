"""Networks of containers as an engine makes them, of namespaces of the kernel: a bridge of the host, and containers behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from compat_tests.image.container import PATIENCE_S

GATEWAY, ADDRESS, NEIGHBOUR = "172.31.99.1", "172.31.99.2", "172.31.99.3"
#: What an engine runs for a port that is mapped: it accepts on the host and goes on from the host's address on the bridge.
_MAP = """
import socket, sys, threading
def pump(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
print("mapped", flush=True)
while True:
    client, _ = server.accept()
    inner = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    for pair in ((client, inner), (inner, client)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
"""


class NoNetworks(Exception):
    """They cannot be made here; the text says why."""


class Networks:
    """Names of namespaces: the host's, that of the container with the broker, that of another."""

    def __init__(self) -> None:
        self.host, self.broker, self.other = (f"pykbroker-{os.getpid()}-{each}" for each in ("host", "broker", "other"))

    def enter(self, name: str) -> list[str]:
        """What to put before a command that is to run in one."""
        return ["nsenter", f"--net=/run/netns/{name}"]

    def make(self) -> None:
        """Raises NoNetworks."""
        for name in (self.host, self.broker, self.other):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", self.host, "link", "add", "bridge0", "type", "bridge")
        _ip("-n", self.host, "address", "add", f"{GATEWAY}/24", "dev", "bridge0")
        _ip("-n", self.host, "link", "set", "bridge0", "up")
        for number, (name, address) in enumerate(((self.broker, ADDRESS), (self.other, NEIGHBOUR))):
            _ip("-n", self.host, "link", "add", f"veth{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", self.host, "link", "set", f"veth{number}", "master", "bridge0", "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "route", "add", "default", "via", GATEWAY)

    def remove(self) -> None:
        for name in (self.host, self.broker, self.other):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    @contextmanager
    def mapped(self, port: int) -> Iterator[None]:
        """``docker run -p PORT:PORT``."""
        command = [*self.enter(self.host), sys.executable, "-c", _MAP, ADDRESS, str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "mapped\n"
                yield
            finally:
                process.kill()

    def run(self, name: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.enter(name), *command], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NoNetworks("the program ip (of iproute2) is not installed") from error
    if done.returncode:
        raise NoNetworks(f"ip {' '.join(words)}: {done.stderr.strip()}")
