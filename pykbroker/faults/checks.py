"""Validation of fault rules. A rule that cannot act is refused, with what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.refusals import shapes
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.faults.fault import Fault

#: Options without a value.
FLAGS = ("hold", "drop", "close", "corrupt", "duplicate", "short", "stale", "after")
ACTIONS = (
    "error",
    "hold",
    "drop",
    "close",
    "truncate",
    "corrupt",
    "duplicate",
    "short",
    "throttle",
    "stale",
    "leader",
    "status",
)
#: In place of an API: requests to the schema registry of the process.
REGISTRY = "SchemaRegistry"
#: What a rule for these may have; the rest is of Kafka's protocol.
_OF_REGISTRY = frozenset(
    (
        "api",
        "path",
        "client",
        "principal",
        "delay",
        "status",
        "hold",
        "drop",
        "close",
        "after",
        "times",
        "nth",
        "probability",
        "seed",
    )
)
LEVELS = ("top", "topic", "partition", "group", "member", "item")
_TEXTS = ("version", "topic", "group", "client", "principal", "listener", "error", "at", "path")
_NEVER_NEGATIVE = ("partition", "broker", "truncate", "leader", "seed", "status")
_FROM_ONE = ("times", "nth")
#: throttle_time_ms is an int32.
_LONGEST_THROTTLE = 2**31 - 1


class BadFault(ValueError):
    """The fault cannot act; the text says why, and what to write instead."""


@cache
def rows() -> dict[str, ServedApi]:
    """The served APIs by Kafka's names."""
    return {APIS[int(api.key)].name: api for api in SUPPORTED}


def check_words(said: Mapping[str, Any]) -> None:
    """Raises BadFault for an unknown option."""
    from pykbroker.faults.fault import Fault  # it imports this module

    for name in said:
        if name not in Fault.__dataclass_fields__:
            raise BadFault(f"a fault has no {name!r}{_meant(name, Fault.__dataclass_fields__)}")


def normalise(fault: Fault) -> None:
    """Convert the names in a fault to Kafka's spelling; they may be given in any case and with separators. Raises BadFault."""
    if not isinstance(fault.api, str):
        raise BadFault(f"api is {fault.api!r}; write a name, such as Produce, or * for all")
    named = {_squeezed(name): name for name in (*rows(), REGISTRY)}
    if fault.api != "*":
        found = named.get(_squeezed(fault.api))
        if found is None:
            raise BadFault(
                f"{fault.api!r} is not an API that is served{_meant(fault.api, rows())}, or * for all of them"
            )
        object.__setattr__(fault, "api", found)
    for name in _TEXTS:
        value: Any = getattr(fault, name)
        if name == "version" and isinstance(value, int) and not isinstance(value, bool):
            object.__setattr__(fault, name, value := str(value))
        if value is not None and (not isinstance(value, str) or not value or "\0" in value):
            raise BadFault(f"{name} is {value!r}; write a text, or leave it out")
    if fault.error is not None:
        code = fault.error.upper()
        if code not in ErrorCode.__members__ or code == "NONE":
            codes = [each for each in ErrorCode.__members__ if each != "NONE"]
            raise BadFault(f"error={fault.error} is not an error of Kafka{_meant(code, codes)}")
        object.__setattr__(fault, "error", code)


def check(fault: Fault) -> None:
    """Raises BadFault for a fault that cannot act."""
    _check_numbers(fault)
    _check_action(fault)
    if fault.api == REGISTRY:
        _check_of_registry(fault)
        return
    if fault.path is not None:
        raise BadFault(f"requests of {fault.api} have no path; write {REGISTRY} for those to the schema registry")
    versions = served_versions(fault)
    if fault.api != "*":
        _check_names(fault)
    _check_places(fault, versions)


def _check_of_registry(fault: Fault) -> None:
    for name in fault.as_json():
        if name not in _OF_REGISTRY:
            raise BadFault(f"{REGISTRY} has no {name}; it has {', '.join(sorted(_OF_REGISTRY - {'api'}))}")
    code = fault.status
    if code is not None and not (400 <= code <= 599 or 40_000 <= code <= 59_999):
        raise BadFault(f"status is {code}; write a status of HTTP from 400 to 599, or a registry's code, as 50001")


def _check_numbers(fault: Fault) -> None:
    for name in (*_NEVER_NEGATIVE, *_FROM_ONE):
        value, least = getattr(fault, name), int(name in _FROM_ONE)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise BadFault(f"{name} is {value!r}; write a whole number from {least} on, or leave it out")
    if fault.throttle is not None and fault.throttle > _LONGEST_THROTTLE:
        raise BadFault(f"throttle is {fault.throttle} ms; answers have room for {_LONGEST_THROTTLE}, some 24 days")
    chance: Any = fault.probability
    if chance is not None and (isinstance(chance, bool) or not isinstance(chance, (int, float)) or not 0 < chance <= 1):
        raise BadFault(f"probability is {chance!r}; write a number above 0 and up to 1, such as 0.1")
    if fault.seed is not None and chance is None:
        raise BadFault("seed goes with probability; write probability too, or leave seed out")


def _check_action(fault: Fault) -> None:
    for name, value in ((name, getattr(fault, name)) for name in FLAGS):
        if not isinstance(value, bool):
            raise BadFault(f"{name} is {value!r}; write {name}=True, or leave it out")
    said = [name for name in ACTIONS if getattr(fault, name) is not None and getattr(fault, name) is not False]
    if len(said) > 1:
        raise BadFault(f"{' and '.join(said)} contradict each other; make a rule of each")
    if not said and fault.delay is None:
        raise BadFault(f"the fault has no action; write one of {', '.join(ACTIONS)}, or delay")
    action = said[0] if said else "delay"
    if fault.after and action not in ("error", "drop", "close", "delay", "status"):
        raise BadFault(f"after does not go with {action}; it goes with error, drop, close, delay and status")
    if fault.after and action != "delay" and fault.delay is not None:
        raise BadFault(f"delay and {action} with after: their order is ambiguous; make a rule of each")
    if fault.at is not None and action != "error":
        raise BadFault("at is the level of an error; write error too, or leave at out")
    only = {"corrupt": "Fetch", "short": "Fetch", "stale": "Metadata", "leader": "Metadata", "status": REGISTRY}.get(
        action
    )
    if only is not None and fault.api != only:
        raise BadFault(f"{action} acts on {only} only; write {only} instead of {fault.api}")
    if action == "hold" and (fault.times or fault.probability):
        raise BadFault("hold lasts until the rule is removed; leave times and probability out, or write delay")


def served_versions(fault: Fault) -> dict[str, list[int]]:
    """The served versions that a rule matches, by API. Raises BadFault if there are none."""
    low, high = _range(fault.version)
    chosen = rows() if fault.api == "*" else {fault.api: rows()[fault.api]}
    found = {
        name: [version for version in range(api.min_version, api.max_version + 1) if low <= version <= high]
        for name, api in chosen.items()
    }
    if not any(found.values()):
        api = rows().get(fault.api)
        served = f"; {fault.api} is served in {api.min_version}-{api.max_version}" if api else ""
        raise BadFault(f"version={fault.version} is not served{served}")
    return found


#: Characters, of two numbers of 16 bits; int() refuses thousands of digits.
_LONGEST_RANGE: Final = 20


def _range(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 0x7FFF
    low, dash, high = text.partition("-")
    if not dash and low.endswith("+"):
        low, high = low[:-1], str(0x7FFF)
    elif not dash:
        high = low
    if not (low.isdecimal() and high.isdecimal() and len(text) < _LONGEST_RANGE and int(low) <= int(high)):
        raise BadFault(f"version={text[:_LONGEST_RANGE]} is not a range of versions; write one, such as 7, 3-7 or 7+")
    return int(low), int(high)


def version_range(fault: Fault) -> tuple[int, int]:
    """The lowest and the highest version that a rule matches."""
    return _range(fault.version)


def _check_names(fault: Fault) -> None:
    named = nameable(fault.api)
    for matcher in ("topic", "partition", "group"):
        if getattr(fault, matcher) is not None and matcher not in named:
            raise BadFault(f"{fault.api} requests name no {matcher}; leave {matcher} out")


@cache
def nameable(api: str) -> frozenset[str]:
    """Those of topic, partition and group that requests of an API can name."""
    key = rows()[api].key
    found = set(shapes.roles(APIS[int(key)].request))
    if "topic_id" in found:
        found.add("topic")
    if "resource_name" in found:
        found |= {"topic", "group"}
    if key == ApiKey.FIND_COORDINATOR:
        found.add("group")
    if key == ApiKey.METADATA:
        found.discard("partition")
    return frozenset(found)


def _check_places(fault: Fault, versions: dict[str, list[int]]) -> None:
    if fault.at is not None and fault.at not in LEVELS:
        raise BadFault(f"at={fault.at} is not a level of a response; write one of {', '.join(LEVELS)}")
    if fault.at is not None:
        levels = {
            site.level
            for name, served in versions.items()
            for site in shapes.error_sites(APIS[int(rows()[name].key)].response)
            if any(shapes.carries_error(APIS[int(rows()[name].key)].response, site, version) for version in served)
        }
        if fault.at not in levels:
            raise BadFault(
                f"answers of {fault.api} have no error at {fault.at}; write at={' or at='.join(sorted(levels))}"
            )
    if fault.throttle is not None and not any(
        shapes.carries_throttle(APIS[int(rows()[name].key)].response, version)
        for name, served in versions.items()
        for version in served
    ):
        raise BadFault(f"answers of {fault.api} have no throttle_time_ms in these versions; write delay instead")


def _squeezed(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _meant(word: str, known: Iterable[str]) -> str:
    """A suggestion of similar known words, for the end of a message."""
    by_form = {_squeezed(name): name for name in known}
    close = difflib.get_close_matches(_squeezed(word), by_form, 3, 0.6)
    return f"; did you mean {' or '.join(by_form[each] for each in close)}?" if close else ""
