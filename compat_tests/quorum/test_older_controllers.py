"""A broker of ours and one of Apache Kafka 4.4 whose controller is of an earlier release: clients are offered what it knows, by both alike."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.older_apache import ApacheKafka39, ApacheKafka43
from compat_tests.harness.process import ServerProcess
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member, consume, create, produce, state
from compat_tests.quorum.three import JAVA, OURS
from pykbroker.requests.forwarded import FORWARDED
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.api_versions import ApiVersionsRequest


def offered(bootstrap: str) -> dict[int, tuple[int, int]]:
    """The versions of what controllers answer that a broker offers."""
    with closing(Connection(bootstrap, patience_s=60)) as connection:
        found = connection.ask(ApiVersionsRequest("test", "1"), 4).api_keys  # type: ignore[attr-defined]
    theirs = {*FORWARDED, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS}
    return {each.api_key: (each.min_version, each.max_version) for each in found if each.api_key in theirs}


@takes_long
@pytest.mark.parametrize("release", [ApacheKafka39, ApacheKafka43])
def test_clients_are_offered_what_the_controller_knows(
    release: type[ApacheKafka], start: Callable[[ServerProcess], None], tmp_path: Path
) -> None:
    first = release(tmp_path / "first", flags=[*QUICK, "-Xmx300m"])
    start(first)
    java = ApacheBroker(tmp_path / "java", first, JAVA)
    java.flags = [*QUICK, "-Xmx300m"]
    start(java)
    ours = Member(tmp_path / "ours", first, OURS)
    start(ours)
    for each in (java, ours):
        create(each.bootstrap, [1])  # Apache Kafka's broker hears what the controller knows when it forwards something
    assert offered(ours.bootstrap) == offered(java.bootstrap)
    assert ApiKey.CREATE_TOPICS in offered(ours.bootstrap)
    topic = create(ours.bootstrap, [OURS, 1, JAVA], min_insync_replicas="1")
    produce(ours.bootstrap, topic, [b"x"])
    until_in_thread(lambda: state(first.bootstrap, topic) == (OURS, {1, JAVA, OURS}))
    ours.stop()
    until_in_thread(lambda: state(first.bootstrap, topic) == (1, {1, JAVA}))
    assert consume(first.bootstrap, topic, 1) == [b"x"]
