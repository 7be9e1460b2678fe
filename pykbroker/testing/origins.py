"""Where a record came from, by the log of requests: who produced it, in which transaction, and what its client asked before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pykbroker.wire.batch_header import BatchHeader, read_batch_header

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.steered.request_log import Request

#: How many places are told of, and how many requests of the same client before and after each.
_PLACES: Final = 6
_AROUND: Final = 2


def origins(
    places: Iterable[str], requests: Sequence[Request], name_of: Callable[[bytes], str | None]
) -> Iterator[str]:
    """A few lines for each place (``orders-0@7``) that a kept Produce has written; ``name_of`` names a topic by its id."""
    told = 0
    for place in dict.fromkeys(places):
        for number, request in enumerate(requests):
            batch = _wrote(request, place, name_of)
            if batch is None:
                continue
            yield f"{place} is of {_producer(request, batch)}"
            yield from (f"    {each}" for each in _around(requests, number))
            told += 1
            break
        if told == _PLACES:
            return


def topic_names(cluster: Cluster) -> Callable[[bytes], str | None]:
    """The name of a topic by its id."""

    def name_of(topic_id: bytes) -> str | None:
        topic = cluster.metadata.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    return name_of


def _wrote(request: Request, place: str, name_of: Callable[[bytes], str | None]) -> BatchHeader | None:
    """The header of the batch that a Produce has written to a place, if it has."""
    if request.api != "Produce" or request.request is None or request.response is None:
        return None
    batches: dict[tuple[str, int], Any] = {
        (_named(topic, name_of), each.index): each.records
        for topic in request.request.topic_data  # type: ignore[attr-defined]  # as its API says
        for each in topic.partition_data
    }
    for topic in request.response.responses:  # type: ignore[attr-defined]
        for answer in topic.partition_responses:
            where = _named(topic, name_of), answer.index
            written, records = place.rpartition("@"), batches.get(where)
            if answer.error_code or not records or written[0] != f"{where[0]}-{where[1]}":
                continue
            header = read_batch_header(records)
            if answer.base_offset <= int(written[2]) <= answer.base_offset + header.last_offset_delta:
                return header
    return None


def _named(topic: Any, name_of: Callable[[bytes], str | None]) -> str:
    return topic.name or name_of(topic.topic_id) or ""


def _producer(request: Request, batch: BatchHeader) -> str:
    transactional = request.request.transactional_id  # type: ignore[union-attr]
    who = f"{request.client_id}, producer {batch.producer_id}, epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
    return f"{who}, in a transaction of {transactional!r}:" if transactional else f"{who}:"


def _around(requests: Sequence[Request], number: int) -> list[Request]:
    """The request, those of its client just before and after it, and the end of its transaction."""
    request = requests[number]
    same = [
        (at, each) for at, each in enumerate(requests) if each.client_id == request.client_id and each.api != "Fetch"
    ]
    at = next(position for position, (where, _) in enumerate(same) if where == number)
    chosen = dict(same[max(0, at - _AROUND) : at + _AROUND + 1])
    end = next((each for each in same[at:] if each[1].api == "EndTxn"), None)
    if end is not None and getattr(request.request, "transactional_id", None):
        chosen[end[0]] = end[1]
    return [chosen[where] for where in sorted(chosen)]
