"""A cache of encoded Metadata answers.

A Metadata answer for a few hundred partitions costs as much as hundreds of produce requests, and many clients send the same
request. While the image does not change, equal requests get the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.ids import ZERO_ID

if TYPE_CHECKING:
    from pykbroker.metadata.encoded_once import EncodedOnce
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse

#: Version, listener, principal and host, requested names (None: all), and which authorized operations.
Question = tuple[int, str, str, str, tuple[str | None, ...] | None, bool, bool]

#: The size of the cache: clients of one kind send one or two different requests.
MAX_QUESTIONS = 8


def question(request: MetadataRequest, requester: RequestContext, *, with_host: bool) -> Question | None:
    """The cache key of a request; None for one with topic ids, which are rare. With ``with_host`` it includes the client's
    host, on which the answer may depend.
    """
    names: tuple[str | None, ...] | None = None
    if request.topics is not None and (request.topics or requester.api_version > 0):
        names = tuple([topic.name if topic.topic_id == ZERO_ID else None for topic in request.topics])
        if None in names or "" in names:
            return None
    return (
        requester.api_version,
        requester.listener,
        requester.principal,
        requester.client_host if with_host else "",
        names,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )


class Answers:
    """Answers by key, until the image changes."""

    def __init__(self) -> None:
        self._kept: dict[Question, EncodedOnce] = {}

    def find(self, requested: Question) -> EncodedOnce | None:
        """The cached answer for a key, or None."""
        kept = self._kept.get(requested)
        return None if kept is None else kept.again()

    def keep(self, requested: Question, answer: MetadataResponse) -> MetadataResponse:
        """Cache an answer without errors; returns the answer to send."""
        from pykbroker.metadata.encoded_once import EncodedOnce

        if any(topic.error_code for topic in answer.topics):
            return answer
        if len(self._kept) >= MAX_QUESTIONS:
            self._kept.clear()
        kept = self._kept[requested] = EncodedOnce.of(answer)
        return kept.again()

    def forget(self) -> None:
        """Empty the cache; the image has changed."""
        self._kept.clear()
