"""One Apache Kafka and one pykbroker for all attacks, apart from other suites' ones: they leave names that no other tool expects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.conftest import KEEPING_GROUPS
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[BrokerProcess]]:
    """Both, Apache Kafka first."""
    both = [make(tmp_path_factory.mktemp(make.name), KEEPING_GROUPS) for make in (ApacheKafka, Pykbroker)]
    try:
        for broker in both:
            broker.start()
        yield both
    finally:
        for broker in both:
            broker.stop()
