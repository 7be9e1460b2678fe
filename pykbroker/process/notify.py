"""Notifications to systemd (Type=notify): datagrams to the socket in NOTIFY_SOCKET.

Imported only if NOTIFY_SOCKET is set.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

log = logging.getLogger(__name__)

VARIABLE: Final = "NOTIFY_SOCKET"


def notify(**said: str) -> None:
    """Send ``READY="1"``, ``STOPPING="1"`` or ``STATUS="..."``. If the socket has no reader, a warning is logged."""
    address = os.environ.get(VARIABLE, "")
    if not address:
        return
    text = "\n".join(f"{name}={value}" for name, value in said.items())
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
            # A name that begins with @ is in the abstract namespace, where @ stands for a zero byte.
            sending.connect("\0" + address[1:] if address.startswith("@") else address)
            sending.sendall(text.encode())
    except OSError as error:
        log.warning("systemd cannot be told %s at %s: %s", ", ".join(said), address, error)
