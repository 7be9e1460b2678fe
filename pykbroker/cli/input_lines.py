"""Reads lines from a file descriptor in groups of what has arrived, so that neither a pipe nor a person waits."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

from pykbroker.client.errors import ClientError

_BLOCK = 1 << 18
_LINGER_S = 0.005
_LONGEST_LINE = 256 * 1024 * 1024  # larger than the largest record that consumers accept by default


class BadLine(ClientError):
    """A line of the input is not a record; ``message`` says why, without a full stop."""


def line_groups(
    descriptor: int, *, max_lines: int = 5000, max_bytes: int = 512 * 1024, longest: int = _LONGEST_LINE
) -> Iterator[list[bytes]]:
    """Yield lists of lines without their line ends until the input ends; the last line may lack its end.

    A list is complete at ``max_lines`` or ``max_bytes``, or when nothing more arrives for a few milliseconds. Raises
    ClientError at a line over ``longest`` bytes, after the lines before it were taken, and OSError.
    """
    begun: list[bytes] = []  # pieces of a line whose end has not arrived
    begun_size = 0
    lines: list[bytes] = []
    size = 0
    while block := os.read(descriptor, _BLOCK):
        *whole, rest = block.split(b"\n")
        if whole:
            whole[0] = b"".join([*begun, whole[0]])
            begun, begun_size = [], 0
        begun.append(rest)
        begun_size += len(rest)
        for line in whole:
            lines.append(line.removesuffix(b"\r"))
            size += len(line)
            if len(lines) >= max_lines or size >= max_bytes:
                yield lines
                lines, size = [], 0
        if lines and not select.select([descriptor], [], [], _LINGER_S)[0]:
            yield lines
            lines, size = [], 0
        if begun_size > longest:
            break
    if begun_size <= longest and (rest := b"".join(begun)):
        lines.append(rest.removesuffix(b"\r"))
    if lines:
        yield lines
    if begun_size > longest:
        raise ClientError(f"A line is longer than {longest} bytes and has no end yet. Is this a file of lines?")
