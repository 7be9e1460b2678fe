"""What the records of all internal topics share: finding their class by number, and the check for trailing bytes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TypeVar, cast

from pykbroker.wire.errors import WireError
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer

M = TypeVar("M", bound=Message)


class UnknownRecordType(WireError):
    """The record type is unknown in this release of the schemas; a loader may skip the record, as Kafka does."""


@cache
def record_class(module: str, name: str) -> type[Message]:
    """A generated class of ``wire.internal``; its module is imported on first use."""
    return cast("type[Message]", getattr(import_module(f"pykbroker.wire.internal.{module}"), name))


def whole(item: M, pos: int, buf: Buffer) -> M:
    """``item``, which ended at ``pos`` of ``buf``. Raises WireError if bytes follow."""
    if pos != len(buf):
        raise WireError(f"{len(buf) - pos} bytes of garbage after a {type(item).__name__}")
    return item
