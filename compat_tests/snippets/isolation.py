"""Ports as printed: a command that listens on 9092 has a network of its own, where the system and the user allow it."""

from __future__ import annotations

import contextlib
import functools
import shutil
import socket
import subprocess

_OWN_NETWORK = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@functools.cache
def own_network() -> list[str]:
    """What to put before a command; nothing where there is no way."""
    if not all(map(shutil.which, ("unshare", "ip"))):
        return []
    return [] if subprocess.run([*_OWN_NETWORK, "true"], capture_output=True, check=False).returncode else _OWN_NETWORK


def all_free(ports: list[int]) -> bool:
    """Whether nobody listens on these ports of 127.0.0.1."""
    with contextlib.ExitStack() as held:
        try:
            for port in ports:
                held.enter_context(socket.create_server(("127.0.0.1", port)))
        except OSError:
            return False
    return True
