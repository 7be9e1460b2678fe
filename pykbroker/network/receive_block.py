"""The memory that a connection receives into: a block that all connections share, or one of its own."""

from __future__ import annotations

import contextlib
import mmap

#: Bytes of the shared block, and of the smallest block of a connection's own.
BLOCK = 64 * 1024
#: A connection keeps its own block up to this size; a larger one is released after its frame.
KEPT_BLOCK = 2 * 1024 * 1024


def shared_block() -> memoryview:
    """The block for the connections of one event loop: what one receives is parsed before another receives."""
    return memoryview(bytearray(BLOCK))


class ReceiveBlock:
    """Received bytes that are not parsed yet, ``view[start:end]``; the next ones go to ``view[end:]``.

    They may stay in the shared block only for the present turn of the loop: before it ends, call ``keep``, or ``emptied``
    if none are left.
    """

    __slots__ = ("end", "shared", "start", "view")

    def __init__(self, shared: memoryview) -> None:
        self.shared = shared
        self.view = shared
        self.start = 0
        self.end = 0

    @property
    def own_size(self) -> int:
        """Bytes of the connection's own block; 0 if it has none."""
        return 0 if self.view is self.shared else len(self.view)

    @property
    def is_empty(self) -> bool:
        """Whether all that was received is parsed."""
        return self.start == self.end

    def keep(self, start: int, needed: int) -> None:
        """Everything up to ``start`` is parsed: make room to receive the rest of the ``needed`` bytes from there, and more."""
        view = self.view
        shared = view is self.shared
        if not shared and start + needed <= len(view) and self.end < len(view):
            self.start = start
            return
        have = self.end - start
        if needed <= len(view) and not shared:
            view[:have] = view[start : self.end]
        else:
            larger = _block(max(needed, have + 1))
            larger[:have] = view[start : self.end]
            self.view = larger
        self.start, self.end = 0, have

    def emptied(self) -> None:
        """Everything is parsed; a large block is released."""
        self.start = self.end = 0
        if len(self.view) > KEPT_BLOCK:
            self.view = self.shared

    def let_go(self) -> memoryview | None:
        """Release the connection's own block if it holds nothing; returns it then."""
        released = None
        if self.start == self.end:
            released = self.view if self.own_size else None
            self.start = self.end = 0
            self.view = self.shared
        return released

    def move_to(self, block: memoryview) -> None:
        """Have what is here in another block from now on, which is as large."""
        block[: self.end] = self.view[: self.end]
        self.view = block

    def drop(self) -> None:
        """Release the connection's own block and what it holds: nothing more is parsed."""
        self.start = self.end = 0
        self.view = self.shared


def _block(size: int) -> memoryview:
    """A block whose pages are allocated only as bytes arrive, whatever size a frame announces, and returned at once."""
    pages = mmap.mmap(-1, max(BLOCK, 1 << (size - 1).bit_length()) if size <= KEPT_BLOCK else size)
    with contextlib.suppress(OSError, AttributeError):  # the system has no huge pages
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return memoryview(pages)
