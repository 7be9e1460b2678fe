"""Bytes as hexadecimal or base64 text, for keys and values that a terminal cannot show.

``-`` is null: it is valid in neither encoding.
"""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum

NULL = b"-"


class Encoding(StrEnum):
    """How bytes are written as text."""

    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"


def encode(data: bytes | None, encoding: Encoding) -> bytes:
    """Return ``data`` in an encoding other than TEXT."""
    if data is None:
        return NULL
    return data.hex().encode() if encoding is Encoding.HEX else base64.b64encode(data)


def decode(text: bytes, encoding: Encoding) -> bytes | None:
    """Return the bytes that ``encode`` wrote. Raises ValueError for text that is not in this encoding."""
    plain = text.strip()
    if plain == NULL:
        return None
    try:
        if encoding is Encoding.HEX:
            return bytes.fromhex(plain.decode("ascii"))
        return base64.b64decode(plain, validate=True)
    except (ValueError, binascii.Error) as error:
        raise ValueError(f"not {encoding}: {error}") from None
