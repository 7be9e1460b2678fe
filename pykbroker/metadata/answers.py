"""Metadata answers that are encoded once for many clients.

A Metadata answer over a few hundred partitions costs as much as hundreds of produce requests, and a crowd of clients
asks for the same one. While the image stands still, the same question gets the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.ids import ZERO_ID

if TYPE_CHECKING:
    from pykbroker.metadata.encoded_once import EncodedOnce
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse

#: Version, listener, who asks and from where, names asked for (None: all), and which authorized operations.
Question = tuple[int, str, str, str, tuple[str, ...] | None, bool, bool]

#: Different questions kept at a time: a fleet of clients of one kind asks one or two.
MAX_QUESTIONS = 8


def question(request: MetadataRequest, asker: RequestContext, *, with_host: bool) -> Question | None:
    """What is asked, and by whom, as a key; None for a request with topic ids, which few send: where
    there are ids, names say nothing. ``with_host``: what is shown may depend on where the asker is.
    """
    names: tuple[str, ...] | None = None
    if request.topics is not None and (request.topics or asker.api_version > 0):
        names = tuple([topic.name or "" for topic in request.topics])
        if "" in names or any(topic.topic_id != ZERO_ID for topic in request.topics):
            return None
    return (
        asker.api_version,
        asker.listener,
        asker.principal,
        asker.client_host if with_host else "",
        names,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )


class Answers:
    """Answers by question, for as long as nothing changes."""

    def __init__(self) -> None:
        self._kept: dict[Question, EncodedOnce] = {}

    def find(self, asked: Question) -> EncodedOnce | None:
        """The answer given before to this question."""
        kept = self._kept.get(asked)
        return None if kept is None else kept.again()

    def keep(self, asked: Question, answer: MetadataResponse) -> MetadataResponse:
        """Remember an answer without errors; returns what to send."""
        from pykbroker.metadata.encoded_once import EncodedOnce  # noqa: PLC0415 - start-up counts

        if any(topic.error_code for topic in answer.topics):
            return answer
        if len(self._kept) >= MAX_QUESTIONS:
            self._kept.clear()
        kept = self._kept[asked] = EncodedOnce(answer)
        return kept.again()

    def forget(self) -> None:
        """The image changed."""
        self._kept.clear()
