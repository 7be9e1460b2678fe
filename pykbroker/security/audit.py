"""The authorizer's audit log, with the name and format of Kafka's: ``kafka.authorizer.logger``.

Denied requests are logged at INFO, allowed ones at DEBUG. Clients that retry must not fill the disk: the same denial is
logged once a minute, with the number in between, and the lines per second are limited.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pykbroker.security.acl import as_kafka_writes, name_of
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import TYPE_TITLES
from pykbroker.security.rules import SUPER_USER
from pykbroker.wire.apis import APIS

if TYPE_CHECKING:
    from pykbroker.security.rules import Action, Verdict

log = logging.getLogger("kafka.authorizer.logger")

_REPEATED_AFTER_S: Final = 60.0
_LINES_A_SECOND: Final = 100
#: Distinct denials remembered, and the characters of a resource name that are remembered and logged.
_MAX_REMEMBERED: Final = 10_000
_LONGEST_NAME: Final = 300
#: In place of an API key: an act over HTTP.
HTTP: Final = -1


class AuditLog:
    """See the module. ``now`` is a monotonic time in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        #: By denial: when it was last logged, and how often it was repeated since.
        self._logged: dict[tuple[int, Action], tuple[float, int]] = {}
        self._second = -1.0
        self._lines = 0
        self._left_out = 0

    def tells_allowed(self) -> bool:
        """Whether allowed requests are logged."""
        return log.isEnabledFor(logging.DEBUG)

    def allowed(self, api_key: int, action: Action, verdict: Verdict, count: int) -> None:
        log.debug("%s", _line(api_key, action, verdict, count))

    def denied(self, api_key: int, action: Action, verdict: Verdict, count: int) -> None:
        """Log a denial; repetitions are counted and logged later."""
        if not log.isEnabledFor(logging.INFO):
            return
        action = _shortened(action)
        key, now = (api_key, action), self._now()
        when, since = self._logged.get(key, (None, 0))
        if when is not None and now - when < _REPEATED_AFTER_S:
            self._logged[key] = when, since + 1
            return
        if not self._has_room(now):
            self._left_out += 1
            return
        if len(self._logged) >= _MAX_REMEMBERED:
            self._logged.clear()
        self._logged[key] = now, 0
        again = f" ({since} more times since it was last logged)" if since else ""
        log.info("%s%s", _line(api_key, action, verdict, count), again)

    def _has_room(self, now: float) -> bool:
        if now - self._second >= 1:
            self._second, self._lines = now, 0
            if self._left_out:
                log.info("%d more denied requests were not logged: too many in one second", self._left_out)
                self._left_out = 0
        self._lines += 1
        return self._lines <= _LINES_A_SECOND


def _shortened(action: Action) -> Action:
    """The action with a name of limited length, since names come from clients."""
    name = action.resource_name
    if len(name) <= _LONGEST_NAME:
        return action
    return action._replace(resource_name=f"{name[:_LONGEST_NAME]}... ({len(name)} characters)")


def _line(api_key: int, action: Action, verdict: Verdict, count: int) -> str:
    outcome = "Allowed" if verdict.allowed else "Denied"
    return (
        f"Principal = {action.principal} is {outcome} operation = {name_of(action.operation, OPERATION_NAMES)} "
        f"from host = {action.host} on resource = {name_of(action.resource_type, TYPE_TITLES)}:LITERAL:"
        f"{action.resource_name} for request = {_request(api_key)} with resourceRefCount = {count} "
        f"based on rule {_reason(verdict)}"
    )


def _request(api_key: int) -> str:
    return "HTTP" if api_key == HTTP else APIS[api_key].name


def _reason(verdict: Verdict) -> str:
    if verdict is SUPER_USER:
        return "SuperUser"
    if verdict.acl is not None:
        return f"MatchingAcl(acl={as_kafka_writes(verdict.acl)})"
    return "DefaultAllow" if verdict.allowed else "DefaultDeny"
