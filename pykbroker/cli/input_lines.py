"""Lines from a file descriptor, in groups: whatever is there already, so that neither a pipe nor a person waits."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

_BLOCK = 1 << 18
_LINGER_S = 0.005


def line_groups(descriptor: int, *, max_lines: int = 5000, max_bytes: int = 512 * 1024) -> Iterator[list[bytes]]:
    """Lists of lines without their line ends, until the input ends; a last line may lack its end.

    A list comes when it has ``max_lines`` or ``max_bytes``, and when nothing more arrives for a few milliseconds.
    """
    rest = b""
    lines: list[bytes] = []
    size = 0
    while block := os.read(descriptor, _BLOCK):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            lines.append(line.removesuffix(b"\r"))
            size += len(line)
            if len(lines) >= max_lines or size >= max_bytes:
                yield lines
                lines, size = [], 0
        if lines and not select.select([descriptor], [], [], _LINGER_S)[0]:
            yield lines
            lines, size = [], 0
    if rest:
        lines.append(rest.removesuffix(b"\r"))
    if lines:
        yield lines
