"""Explains frames that are refused by their size: often the first bytes of another protocol. Imported with the first one."""

from __future__ import annotations


def explain(prefix: bytes, max_bytes: int, setting: str) -> str:
    """Why a connection is closed for the first four bytes of a frame, its size; ``setting`` limits it to ``max_bytes``."""
    if prefix[:2] == b"\x16\x03":
        return (
            "it opened with a TLS handshake, but this listener speaks plaintext: its client needs "
            "security.protocol=PLAINTEXT, or SASL_PLAINTEXT, or the port of another listener"
        )
    if prefix in (b"GET ", b"POST", b"HEAD", b"PUT "):
        return "it speaks HTTP, not Kafka's protocol"
    size = int.from_bytes(prefix, "big", signed=True)
    return f"it announced a frame of {size} bytes, but {setting} is {max_bytes}"
