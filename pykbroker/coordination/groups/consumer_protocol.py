"""The topics in the subscriptions that classic consumers send to each other through the coordinator."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription

log = logging.getLogger(__name__)

#: The protocol type of consumer groups; Connect and others have their own, which the coordinator does not read.
PROTOCOL_TYPE = "consumer"

#: Topics that the subscriptions of a group may name together: they are read in one turn, and a frame holds a million names.
_MOST_NAMES = 50_000


def subscribed_topics(subscriptions: Iterable[bytes], group_id: str) -> frozenset[str] | None:
    """The topics that any of these subscriptions names, or None if one cannot be decoded or they name more than 50,000.

    All versions are read as version 0, with whose fields every later one begins.
    """
    topics: set[str] = set()
    left = _MOST_NAMES
    try:
        for metadata in set(subscriptions):
            left -= int.from_bytes(metadata[2:6], "big")  # the length of the list, which is the first field
            if left < 0:
                raise WireError(f"all of them name more than {_MOST_NAMES} topics")
            subscription, _ = ConsumerProtocolSubscription.decode(metadata, 2, 0)
            topics.update(subscription.topics)
    except WireError as error:
        log.warning("Group %s: a member's subscription cannot be read (%s); its topics are not known", group_id, error)
        return None
    return frozenset(topics)
