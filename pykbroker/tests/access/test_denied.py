"""Who has no rights gets refusals and changes nothing, whatever fills the places around the handlers: every API of every release, in every
version, under every kind of fault.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from pykbroker.access.step import authorise
from pykbroker.access.table import CHECKS
from pykbroker.faults.checks import ACTIONS
from pykbroker.faults.fault import BadFault, Fault
from pykbroker.faults.injector import Injector
from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.handlers.table import ServedApi
from pykbroker.releases.release import NAMES, Release, release
from pykbroker.requests.pipeline import Place
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.messages import errors, request_in
from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import ErrorCode

#: No handler answers it by itself to these requests.
INJECTED = ErrorCode.REQUEST_TIMED_OUT
REFUSALS = {code for code in ErrorCode if code.name.endswith("_AUTHORIZATION_FAILED")}
EFFECTS: list[dict[str, Any]] = [
    {"error": INJECTED.name},
    {"error": INJECTED.name, "after": True},
    *({effect: True} for effect in ("hold", "drop", "close", "corrupt", "duplicate", "short", "stale")),
    {"drop": True, "after": True},
    {"close": True, "after": True},
    {"truncate": 6},
    {"throttle": 100},
    {"delay": 100},
    {"delay": 100, "after": True},
    {"leader": 1},
]
EVERY = [(name, api) for name in NAMES for api in release(name).table if api.key in CHECKS]


class Denying(MemoryCluster):
    """A broker of a release with topics x0 and x1, whose authorizer denies everything to everybody."""

    def __init__(self, of: Release) -> None:
        dispatcher = of.dispatcher()
        dispatcher.places.fill(Place.AUTHORISE, authorise)
        super().__init__(dispatcher=dispatcher, **{"authorizer.class.name": STANDARD_AUTHORIZER})
        for name in ("x0", "x1"):
            self.topic(name, 2)
        self.faults = Injector(dispatcher, lambda: self.cluster)

    def state(self) -> dict[str, Any]:
        """Everything that a request could have changed: each file of the disk."""
        return {path: bytes(inode.content) for path, inode in self.disk._names.items() if inode is not None}

    def told(self, api: ServedApi, version: int) -> Any:
        """The answer, or None for a request that gets none."""
        try:
            answer = self.post(request_in(api, version), version)
            self.advance(200)
            return answer.value if answer.done else None
        except (CloseConnection, NotYet):
            return None


@cache
def denying(name: str) -> Denying:
    return Denying(release(name))


def test_every_effect_of_a_fault_is_tried() -> None:
    """``status`` is of the schema registry, which asks for rights by itself."""
    tried = {name for effect in EFFECTS for name in effect}
    assert tried == {*ACTIONS, "delay", "after"} - {"status"}


@pytest.mark.parametrize(("name", "api"), EVERY, ids=lambda value: getattr(value, "handler", value))
def test_nothing_is_changed_or_answered_but_refusals(name: str, api: ServedApi) -> None:
    world = denying(name)
    before = world.state()
    for version in range(api.min_version, api.max_version + 1):
        plain = world.told(api, version)
        answered = set() if plain is None else {code for _, code in errors(plain)}
        if not answered & REFUSALS or not any(check.acts for check in CHECKS[api.key]):
            # Nothing was asked that needs rights, or the handler asks for them: an injected error then tells of nothing.
            answered.add(INJECTED)
        for effect in EFFECTS:
            try:
                world.faults.add(Fault(APIS[api.key].name, **effect))
            except BadFault:  # not for this API
                continue
            answer = world.told(api, version)
            world.faults.clear()
            if answer is not None:
                assert {code for _, code in errors(answer)} <= answered, (version, effect)
    assert world.state() == before
