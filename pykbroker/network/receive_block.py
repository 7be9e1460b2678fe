"""Where a connection's bytes are received: in a block that all share, or in one of its own."""

from __future__ import annotations

import mmap

#: Size of the shared block, and of the smallest of a connection's own.
BLOCK = 64 * 1024
#: A block up to this size stays with its connection; a larger frame gets memory of its own, for itself alone.
KEPT_BLOCK = 2 * 1024 * 1024


def shared_block() -> memoryview:
    """For the connections of one event loop: what one has received is parsed before another receives."""
    return memoryview(bytearray(BLOCK))


class ReceiveBlock:
    """The bytes that were received and not parsed yet: ``view[start:end]``; the next ones go to ``view[end:]``.

    The shared block may hold them only until the loop's next turn: before that, call ``keep``, or ``emptied`` where none
    are left.
    """

    __slots__ = ("_shared", "end", "start", "view")

    def __init__(self, shared: memoryview) -> None:
        self._shared = shared
        self.view = shared
        self.start = 0
        self.end = 0

    def keep(self, start: int, needed: int) -> None:
        """Parsed up to ``start``. See that the ``needed`` bytes from there can be received whole behind the present ones."""
        view = self.view
        shared = view is self._shared
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
        """All is parsed."""
        self.start = self.end = 0
        if len(self.view) > KEPT_BLOCK:
            self.view = self._shared

    def let_go(self) -> None:
        """Give back the memory that is not in use."""
        if self.start == self.end:
            self.start = self.end = 0
            self.view = self._shared

    def drop(self) -> None:
        """Give back everything: nothing more will be parsed."""
        self.start = self.end = 0
        self.view = self._shared


def _block(size: int) -> memoryview:
    if size <= KEPT_BLOCK:
        return memoryview(bytearray(max(BLOCK, 1 << (size - 1).bit_length())))
    return memoryview(mmap.mmap(-1, size))  # pages appear only as bytes arrive
