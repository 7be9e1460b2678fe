"""Calls of librdkafka with a deadline of our own: some wait for ever, whatever time-out they are given.

One is ``send_offsets_to_transaction`` after the broker has died and come back (librdkafka 2.16): it waits for a connection to a broker that
it has removed from its list. Closing such a client waits, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException

_CALL_S = 5.0
"""The longest that one call is asked to take. Calls that may be repeated say so by their error."""
_GRACE_S = 5.0
"""What a call may take beyond that before it counts as one that waits for ever."""


class CallTimedOut(KafkaException):
    """The call did not return. Its client must not be used any more, and is left alone: destroying it would wait for ever, too."""


def called(limit_s: float, step: Callable[..., Any], *arguments: Any) -> Any:
    """The result of ``step(*arguments, timeout)``, which is called again for ``limit_s`` seconds while its error is retriable.

    Raises KafkaException, and CallTimedOut if a call does not return although its time-out is over.
    """
    deadline = time.monotonic() + limit_s
    timeout_s = min(_CALL_S, limit_s)
    while True:
        try:
            return ended_within(timeout_s + _GRACE_S, step, *arguments, timeout_s)
        except KafkaException as error:
            if isinstance(error, CallTimedOut) or not error.args[0].retriable() or time.monotonic() > deadline:
                raise


def ended_within(limit_s: float, step: Callable[..., Any], *arguments: Any) -> Any:
    """The result of ``step(*arguments)``, in a thread of its own. Raises what it raises, and CallTimedOut after ``limit_s`` seconds."""
    found: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(step(*arguments))
        except BaseException as error:  # noqa: BLE001 - it is raised in the other thread
            raised.append(error)

    thread = threading.Thread(target=run, name="librdkafka", daemon=True)
    thread.start()
    thread.join(limit_s)
    if raised:
        raise raised[0]
    if not found:
        raise CallTimedOut(KafkaError(KafkaError._TIMED_OUT, "librdkafka does not return"))  # noqa: SLF001 - the constant's name
    return found[0]
