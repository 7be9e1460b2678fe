"""The fault injector of one process: adds and removes rules, and the dispatcher's step while there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.faults.book import FaultBook, Rule
from pykbroker.faults.checks import REGISTRY
from pykbroker.faults.fault import BadFault, Fault
from pykbroker.faults.naming import like
from pykbroker.faults.step import FaultStep, old_image
from pykbroker.requests.pipeline import Place, through

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.faults.chaos import RequestChaos
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.waits import Deferred


class Injector:
    """Belongs to the loop that owns the cluster. ``cluster`` is called each time, since a reset replaces the cluster."""

    def __init__(self, dispatcher: Dispatcher, cluster: Callable[[], Cluster]) -> None:
        self._places = dispatcher.places
        self._cluster = cluster
        self.book = FaultBook()
        self._step = FaultStep(self.book)
        self._is_in = False

    def add(self, fault: Fault) -> Rule:
        """Add a rule for a fault. Raises BadFault for an unknown broker or listener."""
        self._check_there(fault)
        rule = self.book.add(fault)
        if fault.stale:
            rule.kept = old_image(self._cluster().metadata.image)
        self._enter()
        return rule

    def begin_chaos(self, chaos: RequestChaos) -> None:
        """Let chaos befall the requests that no rule acts on."""
        self._step.chaos = chaos
        self._enter()

    def end_chaos(self) -> None:
        """End it; what has begun goes on."""
        self._step.chaos = None
        self._leave()

    @property
    def silent(self) -> frozenset[str]:
        """The clients of which nothing comes at present."""
        return self._step.silent

    def silence(self, client: str, ms: int) -> None:
        """Let nothing of a client come for so many milliseconds, or until the cluster's life ends."""
        self._step.silence(self._cluster().runtime, client, ms)
        self._enter()

    def _enter(self) -> None:
        if not self._is_in:
            self._places.fill(Place.INTERCEPT, through(self._step))
            self._is_in = True

    def _check_there(self, fault: Fault) -> None:
        cluster = self._cluster()
        brokers = cluster.metadata.image.brokers
        if fault.broker is not None and fault.broker not in brokers:
            raise BadFault(f"there is no broker {fault.broker}; these are: {', '.join(map(str, sorted(brokers)))}")
        listeners = [listener.name for listener in cluster.config.listeners]
        if fault.listener is not None and not any(like(fault.listener, name) for name in listeners):
            raise BadFault(f"there is no listener {fault.listener!r}; these are: {', '.join(listeners)}")

    def of_registry(self, path: str, client: str, principal: str) -> Rule | None:
        """The rule that acts on a request to the schema registry (``POST /subjects/s/versions``), which is counted; None for none."""
        for rule in list(self.book.rules.values()):
            fault = rule.fault
            asked = (
                (fault.path, path if " " in (fault.path or "") else path.partition(" ")[2]),
                (fault.client, client),
            )
            if (
                fault.api == REGISTRY
                and all(
                    pattern is None or like(pattern, text) for pattern, text in (*asked, (fault.principal, principal))
                )
                and rule.acts()
            ):
                self.book.changed(rule)
                return rule
        return None

    def held(self, rule: Rule) -> Deferred[None]:
        """What is done when a rule that holds requests is removed."""
        return self._step.held(rule)

    def remove(self, number: int) -> Rule:
        """Remove a rule; requests that it held continue. Raises UnknownRule."""
        rule = self.book.remove(number)
        self._step.released(rule)
        self._leave()
        return rule

    def clear(self) -> list[Rule]:
        """Remove all rules, and return them."""
        rules = self.book.clear()
        for rule in rules:
            self._step.released(rule)
        self._leave()
        return rules

    def forget(self) -> None:
        """Remove all rules and what is left of them: their cluster ends."""
        self.clear()
        self._step.chaos = None
        self._step.forget()
        self._leave()

    def _leave(self) -> None:
        if self._is_in and not self.book.rules and not self._step.is_muting and self._step.chaos is None:
            self._places.empty(Place.INTERCEPT)
            self._is_in = False
