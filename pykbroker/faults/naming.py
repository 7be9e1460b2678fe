"""The topics, partitions and groups that a request names at any level, for the conditions of rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from pykbroker.refusals import shapes
from pykbroker.refusals.naming import Names, Wanted, around, item_names
from pykbroker.share_partitions.sessions import ShareMemberKey
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.message import WireStruct
from pykbroker.wire.primitives import ZERO_UUID

if TYPE_CHECKING:
    from typing import Any

    from pykbroker.brokers.broker import Broker
    from pykbroker.faults.fault import Fault
    from pykbroker.metadata.image import MetadataImage


def wanted(fault: Fault, image: MetadataImage) -> Wanted | None:
    """A condition on names, whether the rule applies to them; None if it applies to all."""
    asked = {role: value for role in ("topic", "partition", "group") if (value := getattr(fault, role)) is not None}
    if not asked:
        return None

    def is_meant(names: Names) -> bool:
        for role, value in asked.items():
            named = topic_of(names, image) if role == "topic" else names.get(role)
            if named is None or not (named == value if role == "partition" else like(value, named)):
                return False
        return True

    return is_meant


def topic_of(names: Names, image: MetadataImage) -> str | None:
    """The topic's name, found by its id if the request has only that."""
    name: str | None = names.get("topic")
    if not name and (topic_id := names.get("topic_id", ZERO_UUID)) != ZERO_UUID:
        topic = image.topic_by_id(topic_id)
        return None if topic is None else topic.name
    return name


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def like(pattern: str, text: str | None) -> bool:
    """Whether a text matches the pattern, in which ``*`` stands for any characters."""
    return text is not None and (pattern == text or ("*" in pattern and _pattern(pattern).fullmatch(text) is not None))


def all_names(request: Any, broker: Broker) -> Iterator[Names]:
    """The names in a request, one by one for each partition if it names partitions. The session may change meanwhile."""
    names = around(request)
    yield from _leaves(request, names)
    if request.API_KEY in (ApiKey.FETCH, ApiKey.SHARE_FETCH):
        yield from ({**names, **each} for each in session_names(request, broker))


def session_names(request: Any, broker: Broker) -> Iterator[Names]:
    """The partitions of the session of a Fetch request (KIP-227) or a ShareFetch request, which the request need not name."""
    if request.API_KEY == ApiKey.SHARE_FETCH:
        key = ShareMemberKey(request.group_id or "", request.member_id or "")
        shared = broker.share_partitions.sessions.find(key) if request.share_session_epoch else None
        for topic_id, index in list(shared.partitions) if shared is not None else ():
            yield {"topic_id": topic_id, "partition": index}
        return
    session = broker.fetch_sessions.session(request.session_id) if request.session_id else None
    for topic, index in list(session.items) if session is not None else ():
        yield {"topic" if isinstance(topic, str) else "topic_id": topic, "partition": index}


def _leaves(struct: Any, names: Names) -> Iterator[Names]:
    nothing_below = True
    for field in shapes.parts(type(struct)):
        for item in getattr(struct, field.name) or ():
            nothing_below = False
            inner = item_names(field, item, names)
            if isinstance(item, WireStruct):
                yield from _leaves(item, inner)
            else:
                yield inner
    if nothing_below:
        yield names
