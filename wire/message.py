"""The base class of every generated message and of the structs inside one."""

from __future__ import annotations

from typing import Any, ClassVar

from pykbroker.wire.primitives import Buffer

UNSET: Any = []
"""Default of list parameters: tells "not given" (a new list) from None, which some fields allow."""

NEVER_FLEXIBLE = 0x7FFF
"""``FLEXIBLE_FROM`` of a message that has no flexible version."""


class WireStruct:
    """A mutable value with slots, equal to another of its class if all fields are equal.

    Not a dataclass: the decorator costs 0.3 ms per class at import, and a broker has hundreds.
    """

    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # mutable

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class Message(WireStruct):
    """A complete message: a request, a response, or a record of an internal topic.

    One class serves all versions: it has the fields of every version, and the version is an argument. A field that
    a version lacks keeps its default when decoding.
    """

    __slots__ = ()

    API_KEY: ClassVar[int]
    """Of requests and responses, and the number of a metadata record."""
    TYPE: ClassVar[int]
    """Of coordinator records: the number that stands before the key."""
    VERSIONS: ClassVar[tuple[int, int]]
    """Lowest and highest version the schema lists."""
    FLEXIBLE_FROM: ClassVar[int]
    """First version with compact lengths and tagged fields (KIP-482)."""

    def encode(self, out: bytearray, version: int) -> None:
        """Append the message to ``out``.

        Raises WireError for an unknown version, if a value does not fit its type, and if a field that the version lacks
        has a value and is not ignorable in the schema.
        """
        raise NotImplementedError

    @staticmethod
    def decode(buf: Buffer, pos: int, version: int) -> tuple[Message, int]:
        """Read a message from ``buf`` at ``pos``; returns it and the position after it.

        ``buf`` must end where the frame ends: lengths are checked against the remaining bytes. ``records`` fields are
        slices of ``buf``, all other values are copies. Raises WireError for malformed bytes.
        """
        raise NotImplementedError
