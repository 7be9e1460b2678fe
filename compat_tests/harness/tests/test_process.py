"""What the harness knows of servers without asking them."""

from __future__ import annotations

import socket

import pytest

from compat_tests.harness.process import free_ports, listening_ports


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::")])
def test_a_port_is_listened_on_from_listen_to_close(family: socket.AddressFamily, host: str) -> None:
    (port,) = free_ports(1)
    with socket.socket(family) as server:
        server.bind((host, port))
        assert port not in listening_ports()
        server.listen()
        assert port in listening_ports()
    assert port not in listening_ports()
