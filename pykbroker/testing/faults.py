"""Fault injection by a test: rules for requests to its brokers, and cut connections.

Rules act on the brokers' thread; everything here may be called from any other.
"""

from __future__ import annotations

import threading
import time
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pykbroker.faults.book import Rule
from pykbroker.faults.checks import check_words
from pykbroker.faults.fault import BadFault, Fault

if TYPE_CHECKING:
    from pykbroker.faults.injector import Injector
    from pykbroker.steered.embedded import Embedded

__all__ = ["BadFault", "Fault", "Faults", "NeverMatched", "NeverMatchedWarning", "PlacedFault"]

#: The properties by which ``cut`` selects connections.
_WHO = ("client", "principal", "listener", "broker")
#: The default timeout of a wait, in seconds.
TIMEOUT_S = 10.0


class NeverMatched(AssertionError):
    """A fault matched no request: the test has not tested it."""


class NeverMatchedWarning(UserWarning):
    """The same as a warning, if faults are not strict."""


class PlacedFault:
    """A fault that was added to a broker. ``with`` removes it at its end."""

    def __init__(self, faults: Faults, rule: Rule) -> None:
        self._faults = faults
        self._rule = rule

    @property
    def fault(self) -> Fault:
        return self._rule.fault

    @property
    def number(self) -> int:
        return self._rule.number

    @property
    def removed(self) -> bool:
        """Whether it was removed, also by a reset."""
        return self._rule.removed

    @property
    def matched(self) -> int:
        """The number of requests that it matched."""
        return self._rule.matched

    @property
    def fired(self) -> int:
        """The number of requests that it acted on."""
        return self._rule.fired

    def wait(self, times: int = 1, timeout: float = TIMEOUT_S) -> None:
        """Wait until it has acted ``times`` times since it was added. Raises TimeoutError."""
        self._faults.wait(self._rule, times, timeout)

    def remove(self) -> None:
        """Remove the fault; requests that it held continue. Harmless when repeated."""
        self._faults.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<fault {self.number}: {self.fault}; matched {self.matched}, fired {self.fired}>"


class Faults:
    """The faults of a broker, or of all of a cluster. ``strict``: one that never matched is an error at the end."""

    def __init__(self, host: Embedded, *, strict: bool = False) -> None:
        self.strict = strict
        self._host = host
        self._changed = threading.Condition()
        self._placed: dict[int, PlacedFault] = {}
        self._never: list[Fault] = []

    def add(self, fault: Fault | str = "*", **words: Any) -> PlacedFault:
        """Add a fault: a Fault, its text, or an API with the options of a fault. Raises BadFault."""
        check_words(words)
        if isinstance(fault, str):
            fault = Fault.parse(fault) if " " in fault and not words else Fault(fault, **words)
        elif words:
            raise BadFault("a Fault object takes no more options; give them when it is created")
        rule: Rule = self._host.call(lambda: self._injector().add(fault))
        placed = self._placed[rule.number] = PlacedFault(self, rule)
        return placed

    def fail(self, api: str, error: str, **words: Any) -> PlacedFault:
        """``add`` with an error."""
        return self.add(api, error=error, **words)

    def cut(self, **who: Any) -> PlacedFault:
        """Cut connections, such as those with ``client="app-*"``, ``listener="EXTERNAL"`` or ``broker=2``, until the fault is
        removed: those of a broker or a listener now, others at their next request. Raises BadFault for other words.
        """
        for word in who:
            if word not in _WHO:
                raise BadFault(f"connections cannot be selected by {word}; write one of {', '.join(_WHO)}")
        placed = self.add("*", close=True, **who)
        self._host.call(self._cut_now, placed.fault)
        return placed

    def _cut_now(self, fault: Fault) -> None:
        if fault.client is not None or fault.principal is not None:
            return  # known only from a request
        node = self._host.node
        for broker in list(node.cluster.brokers):
            if fault.broker in (None, broker):
                for connection in list(node.server.sockets(broker).connections):
                    if fault.listener in (None, connection.listener):
                        connection.cut()

    def list(self) -> list[PlacedFault]:
        """The active faults, in the order of addition."""
        return list(self._placed.values())

    def remove(self, placed: PlacedFault) -> None:
        """Remove a fault; requests that it held continue. Harmless when repeated."""
        if self._placed.pop(placed.number, None) is not None:
            self._note(placed)
            if self._host.running:
                self._host.call(lambda: self._injector().remove(placed.number))

    def clear(self) -> None:
        """Remove all faults."""
        for placed in self.list():
            self.remove(placed)

    def forget(self) -> None:
        """The faults are gone with their cluster; called on the brokers' own thread."""
        for placed in self.list():
            self._note(placed)
        self._placed.clear()

    def wait(self, rule: Rule, times: int, timeout: float) -> None:
        """Wait until a rule has acted ``times`` times. Raises TimeoutError."""
        ends = time.monotonic() + timeout
        with self._changed:
            while rule.fired < times:
                if rule.removed or not self._changed.wait(ends - time.monotonic()):
                    raise TimeoutError(
                        f"the fault '{rule.fault}' acted {rule.fired} times, not {times}, and matched {rule.matched} requests"
                    )

    def end(self) -> None:
        """Report faults that never matched. Raises NeverMatched if faults are strict."""
        for placed in self._placed.values():
            self._note(placed)
        self._placed.clear()
        never, self._never = self._never, []
        if never:
            text = "faults that matched no request: " + "; ".join(f"'{fault}'" for fault in never)
            if self.strict:
                raise NeverMatched(text)
            warnings.warn(text, NeverMatchedWarning, stacklevel=3)

    def _note(self, placed: PlacedFault) -> None:
        if not placed.matched and not placed.fault.hold:
            self._never.append(placed.fault)

    def _injector(self) -> Injector:
        injector = self._host.node.faults
        injector.book.follow(self._tell)
        return injector

    def _tell(self, _: Rule) -> None:
        with self._changed:
            self._changed.notify_all()
