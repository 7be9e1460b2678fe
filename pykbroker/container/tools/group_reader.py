"""A member of a group that reads what it is given, from where the group is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.fetcher import Fetched, Fetcher
from pykbroker.client.membership import GroupMembership
from pykbroker.client.offsets import EARLIEST, LATEST, TopicPartition, committed_offsets, list_offsets

_POLL_S: Final = 0.1


class GroupReader:
    """Reads ``topics`` in ``group``: partitions without a committed offset from their end, if ``latest``, else from their start."""

    def __init__(self, client: Client, group: str, topics: list[str], *, latest: bool) -> None:
        self._client, self._group, self._latest = client, group, latest
        self._membership = GroupMembership(client, group, topics)
        self._fetcher = Fetcher(client)

    @property
    def assigned(self) -> list[TopicPartition]:
        """What it reads now."""
        return list(self._fetcher.positions)

    def join(self) -> None:
        """Join, or join again."""
        partitions = self._membership.join()
        known = committed_offsets(self._client, self._group)
        new = [each for each in partitions if each not in known]
        begins = list_offsets(self._client, dict.fromkeys(new, LATEST if self._latest else EARLIEST))
        self._fetcher.assign({each: known[each] for each in partitions if each in known} | begins)

    def still_in(self) -> bool:
        """Whether it need not join again."""
        return self._membership.still_in()

    def poll(self) -> list[Fetched]:
        """What arrives in a moment."""
        return self._fetcher.poll(_POLL_S)

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """These offsets, or where it is. Raises the answer's KafkaError."""
        self._membership.commit(self._fetcher.positions if offsets is None else offsets)

    def leave(self) -> None:
        """Leave the group, and read no more."""
        self._membership.leave()
        self._fetcher.close()
