"""The topics in the subscriptions that classic consumers send to each other through the coordinator."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription

log = logging.getLogger(__name__)

#: The protocol type of consumer groups; Connect and others have their own, which the coordinator does not read.
PROTOCOL_TYPE = "consumer"


def subscribed_topics(subscriptions: Iterable[bytes], group_id: str) -> frozenset[str] | None:
    """The topics that any of these subscriptions names, or None if one cannot be decoded.

    All versions are read as version 0, with whose fields every later one begins.
    """
    topics: set[str] = set()
    try:
        for metadata in subscriptions:
            subscription, _ = ConsumerProtocolSubscription.decode(metadata, 2, 0)
            topics.update(subscription.topics)
    except WireError as error:
        log.warning("Group %s: a member's subscription cannot be read (%s); its topics are not known", group_id, error)
        return None
    return frozenset(topics)
