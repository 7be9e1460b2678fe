"""systemd's notification of a service that is ready (Type=notify): a datagram to the socket that NOTIFY_SOCKET names.

Imported only where systemd, or whoever does as it does, started the process.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

log = logging.getLogger(__name__)

VARIABLE: Final = "NOTIFY_SOCKET"


def notify(**said: str) -> None:
    """Say ``READY="1"``, ``STOPPING="1"`` or ``STATUS="..."``. Nobody is told where nobody listens any more."""
    address = os.environ.get(VARIABLE, "")
    if not address:
        return
    text = "\n".join(f"{name}={value}" for name, value in said.items())
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
            # A name that begins with @ is of the abstract name space, in which that character stands for a zero byte.
            sending.connect("\0" + address[1:] if address.startswith("@") else address)
            sending.sendall(text.encode())
    except OSError as error:
        log.warning("systemd cannot be told %s at %s: %s", ", ".join(said), address, error)
