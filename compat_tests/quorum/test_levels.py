"""Clusters whose metadata.version is lower than ours: our broker works there, goes on when it is raised, and keeps it from being raised too far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import ServerProcess
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member, consume, create, log_of, produce, state
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

pytestmark = takes_long
METADATA_VERSION, NEWEST, OF_4_3 = "metadata.version", 33, 30


@pytest.fixture(params=[7, 16, 25])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApacheKafka]:
    """Apache Kafka at the level of 3.3, of 3.7, before replicas are assigned to log directories, and of 4.0."""
    node = ApacheKafka(tmp_path / "java", flags=[*QUICK, "-Xmx300m"], features=[f"{METADATA_VERSION}={request.param}"])
    node.start()
    yield node
    node.stop()


def update(bootstrap: str, level: int) -> int:
    """The answer to an update of metadata.version."""
    update = FeatureUpdateKey(METADATA_VERSION, level, upgrade_type=1)
    with closing(Connection(bootstrap, patience_s=60)) as connection:
        answer = connection.ask(UpdateFeaturesRequest(60_000, [update]), 1)
    codes = {answer.error_code, *(each.error_code for each in answer.results)}  # type: ignore[attr-defined]
    return int(max(codes))


def level_at(bootstrap: str) -> int:
    """The finalized level that a broker tells its clients."""
    with closing(Connection(bootstrap, patience_s=60)) as connection:
        features = connection.ask(ApiVersionsRequest("test", "1"), 4).finalized_features  # type: ignore[attr-defined]
    return next(each.max_version_level for each in features if each.name == METADATA_VERSION)


def works(java: ApacheKafka, ours: Member) -> None:
    """Each leads, follows and coordinates; ours comes back from a kill."""
    topics = [create(ours.bootstrap, replicas, min_insync_replicas="1") for replicas in ([1, 4], [4, 1])]
    for topic in topics:
        produce(ours.bootstrap, topic, [b"before"])
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic)[1] == {1, 4})
    ours.kill()
    for topic in topics:
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic) == (1, {1}))
        produce(java.bootstrap, topic, [b"meanwhile"])
    ours.start()
    for topic in topics:
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic)[1] == {1, 4})
        produce(java.bootstrap, topic, [b"after"])
        assert consume(ours.bootstrap, topic, 3) == [b"before", b"meanwhile", b"after"]
        until_in_thread(lambda topic=topic: log_of(java, topic) == log_of(ours, topic))


def test_a_lower_level_that_is_raised(old: ApacheKafka, start: Callable[[ServerProcess], None], tmp_path: Path) -> None:
    ours = Member(tmp_path / "ours", old, 4)
    start(ours)
    works(old, ours)
    assert update(ours.bootstrap, NEWEST) == ErrorCode.NONE
    until_in_thread(lambda: level_at(ours.bootstrap) == NEWEST)
    works(old, ours)
    ours.stop()
    log = ours.log_file.read_text()
    assert " ERROR " not in log, log


def test_a_level_that_ours_does_not_know(start: Callable[[ServerProcess], None], tmp_path: Path) -> None:
    """As Kafka 4.3 among 4.4: the controllers refuse what a registered broker does not support, and all goes on."""
    java = ApacheKafka(
        tmp_path / "java", flags=[*QUICK, "-Xmx300m"], features=[f"{METADATA_VERSION}={OF_4_3}"], standalone=True
    )
    start(java)
    ours = Member(tmp_path / "ours", java, 4, arguments=["--as-version", "4.3"])
    start(ours)
    assert update(java.bootstrap, NEWEST) == ErrorCode.INVALID_UPDATE_VERSION
    assert level_at(ours.bootstrap) == OF_4_3
    produce(java.bootstrap, create(java.bootstrap, [4]), [b"goes on"])
