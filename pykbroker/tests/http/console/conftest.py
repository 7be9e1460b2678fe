"""One broker with its HTTP side for a module; each test has topics and groups of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.tests.http.http_client import WithHttp, with_http


@pytest.fixture(scope="module")
def http() -> Iterator[WithHttp]:
    with with_http(brokers=2) as found:
        yield found
