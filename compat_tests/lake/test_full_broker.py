"""The disk of the broker is full while a lake is replayed into it: the replay ends with the reason, and goes on exactly once."""

from __future__ import annotations

import random
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.lake.test_damage import send_noise
from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.cli.lake_options import lake_errors
from pykbroker.client.errors import ClientError
from pykbroker.lake.description import Format
from pykbroker.lake.replay import Replay, ReplayOptions

IMPATIENT = {"transaction.timeout.ms": "6000", "message.timeout.ms": "5000", "socket.timeout.ms": "5000"}


def test_a_replay_goes_on_when_the_broker_has_room_again(
    make: Callable[..., Workshop], topics: Topics, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    random.seed(0)
    topic = topics.create()
    workshop = make()
    send_noise(topics, topic, 3000)
    workshop.archive(topic)
    target = start_target()
    replay = Replay(workshop.lake, target.bootstrap, IMPATIENT, ReplayOptions("again"))
    resource.prlimit(target.pid, resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
    with (
        pytest.raises(ClientError, match=rf"{topic} did not take a record: .* its disk may be full.* --name again"),
        lake_errors(),
    ):
        replay.run()
    target.kill()
    target.start()
    replay = Replay(workshop.lake, target.bootstrap, {}, ReplayOptions("again"))  # a busy machine has time
    sent = sum(replay.run().values())
    assert 0 < sent <= 3000
    again = Workshop(workshop.lake.spark, target.bootstrap, tmp_path / "again", Format.PARQUET)
    assert again.archive(topic).rows == 3000
    assert again.sums() == workshop.sums()
    assert sum(replay.run().values()) == 0
