"""A node of Apache Kafka, controller and broker, and a broker of ours in its cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.quorum.member import Member


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka 4.4.0, broker and controller of a cluster."""
    node = ApacheKafka(tmp_path_factory.mktemp("java"), standalone=True, flags=[*QUICK, "-Xmx300m"])
    node.start()
    yield node
    node.stop()


@pytest.fixture(scope="module")
def ours(java: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    """Our broker in its cluster."""
    member = Member(tmp_path_factory.mktemp("ours"), java, 4)
    member.start()
    yield member
    member.stop()
