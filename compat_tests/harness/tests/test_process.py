"""What the harness knows of servers without asking them."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from compat_tests.harness.process import listening_ports
from pykbroker.tests.kit.ports import free_ports


def test_ports_are_returned_once_and_to_one_process() -> None:
    mine = [port for _ in range(90) for port in free_ports(3)]
    program = "from pykbroker.tests.kit.ports import free_ports; print(*(free_ports(1)[0] for _ in range(250)), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        theirs = [int(port) for port in other.stdout.readline().split()]
        mine += free_ports(1)
        other.communicate("\n")
    assert len({*mine, *theirs}) == len(mine) + 250


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::")])
def test_a_port_is_listened_on_from_listen_to_close(family: socket.AddressFamily, host: str) -> None:
    (port,) = free_ports(1)
    with socket.socket(family) as server:
        server.bind((host, port))
        assert port not in listening_ports()
        server.listen()
        assert port in listening_ports()
    assert port not in listening_ports()
