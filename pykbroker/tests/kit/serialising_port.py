"""A port to the controller that sends every call and every answer through bytes, as one in another process would be asked."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

from pykbroker.controller.port import ControllerPort
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.waits import Deferred

T = TypeVar("T")

OPERATIONS: Final = frozenset(name for name in vars(ControllerPort) if not name.startswith("_"))


class NotAValueError(TypeError):
    """It can be called, or it is more than what it is equal to: another process could not have it."""


class _ValuePickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Called for all but plain data. Classes are named with the values that they make."""
        if isinstance(obj, Enum):  # Python 3.11.0 to 3.11.3 names the function getattr with it
            return type(obj), (obj.value,)
        if not isinstance(obj, type):
            has_identity = type(obj).__eq__ is object.__eq__ and not isinstance(obj, KafkaError)
            if has_identity or callable(obj):
                raise NotAValueError(f"{obj!r} is no value")
        return NotImplemented


def through_bytes(value: T) -> T:
    """A copy, made of bytes. Raises NotAValueError."""
    encoded = io.BytesIO()
    _ValuePickler(encoded, 5).dump(value)
    return cast("T", pickle.loads(encoded.getvalue()))


def serialising(controller: ControllerPort) -> ControllerPort:
    """The port to a controller."""
    return cast("ControllerPort", _SerialisingPort(controller))


class _SerialisingPort:
    def __init__(self, controller: ControllerPort) -> None:
        self._controller = controller

    def __getattr__(self, name: str) -> Callable[..., Deferred[Any]]:
        if name not in OPERATIONS:
            raise AttributeError(f"the port to the controller has no {name}")
        operation = getattr(self._controller, name)

        def call(*args: Any, **kwargs: Any) -> Deferred[Any]:
            sent, named = through_bytes((args, kwargs))
            answer: Deferred[Any] = operation(*sent, **named).map(through_bytes)
            return answer.recover(KafkaError, _refused)

        return call


def _refused(error: KafkaError) -> NoReturn:
    raise through_bytes(error)
