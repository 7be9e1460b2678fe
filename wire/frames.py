"""Outgoing frames: a 4-byte size, a header and a body; large records are not copied."""

from __future__ import annotations

from operator import itemgetter
from struct import Struct

from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer, Records

CUT_SIZE = 16 * 1024
"""Records up to this many bytes are copied into the frame: cheaper than one more piece for the socket."""

MAX_FRAME = 0x7FFFFFFF

_pack_size = Struct(">i").pack_into
_buffer = itemgetter(1)


class FrameWriter(bytearray):
    """The encoded bytes of a frame, and the large record buffers that belong between them.

    ``cuts`` has (position, buffer), where the buffer goes before the byte at that position. ``head`` is the beginning of
    the frame, with four bytes for the size.
    """

    __slots__ = ("cuts",)

    def __init__(self, head: bytes = bytes(4)) -> None:
        bytearray.__init__(self, head)  # super() takes several times as long, in each response
        self.cuts: list[tuple[int, Buffer]] = []

    def finish(self) -> list[Buffer]:
        """Write the size; returns the frame's pieces in order, one piece if there are no cuts.

        Raises WireError if the frame is too large for its size field.
        """
        size = len(self) - 4
        if self.cuts:
            size += sum(map(len, map(_buffer, self.cuts)))
        if size > MAX_FRAME:
            raise WireError(f"a frame of {size} bytes is larger than the protocol allows")
        _pack_size(self, 0, size)
        if not self.cuts:
            return [self]
        view = memoryview(self)
        pieces: list[Buffer] = []
        start = 0
        for position, buffer in self.cuts:
            if position > start:
                pieces.append(view[start:position])
            pieces.append(buffer)
            start = position
        if start < len(self):
            pieces.append(view[start:])
        return pieces


def records_size(records: Records) -> int:
    """The number of bytes of a ``records`` value."""
    return sum(map(len, records)) if type(records) is list else len(records)


def write_records(out: bytearray, records: Records, size: int) -> None:
    """Append records of ``size`` bytes; large ones are only noted in the cuts if ``out`` is a FrameWriter."""
    if size > CUT_SIZE and isinstance(out, FrameWriter):
        position = len(out)
        if isinstance(records, list):
            out.cuts.extend((position, buffer) for buffer in records if buffer)
        else:
            out.cuts.append((position, records))
    elif isinstance(records, list):
        for buffer in records:
            out += buffer
    else:
        out += records
