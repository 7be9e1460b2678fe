"""What the records of all internal topics share: finding their class by number, and ending where they should."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TypeVar, cast

from pykbroker.wire.errors import WireError
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer

M = TypeVar("M", bound=Message)


class UnknownRecordType(WireError):
    """A record that this release of the schemas does not list; a loader may skip it, as Kafka does."""


@cache
def record_class(module: str, name: str) -> type[Message]:
    """A generated class of ``wire.internal``; its module is imported on first use."""
    return cast("type[Message]", getattr(import_module(f"pykbroker.wire.internal.{module}"), name))


def whole(item: M, pos: int, buf: Buffer) -> M:
    """``item``, if it ended at ``pos`` where ``buf`` ends. Raises WireError otherwise."""
    if pos != len(buf):
        raise WireError(f"{len(buf) - pos} bytes of garbage after a {type(item).__name__}")
    return item
