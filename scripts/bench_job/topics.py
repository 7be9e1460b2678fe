"""Topics for loads, which come when their partitions are led: until then a broker of Apache Kafka refuses what is produced."""

from __future__ import annotations

import time
from typing import Any

from compat_tests.oracle.connection import Connection
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic


def led(connection: Connection, *names: str, partitions: int = 1) -> None:
    """Create topics, if they do not exist; comes back when their partitions are led. Raises AssertionError if one is refused."""
    made: Any = connection.ask(CreateTopicsRequest([CreatableTopic(name, partitions, 1) for name in names], 600_000), 7)
    assert all(each.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS) for each in made.topics), made
    ends = [ListOffsetsPartition(index, timestamp=-1) for index in range(partitions)]
    asked = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(name, ends) for name in names])
    while True:
        answer: Any = connection.ask(asked, 7)
        if not any(each.error_code for topic in answer.topics for each in topic.partitions):
            return
        time.sleep(0.01)
