"""A broker with its HTTP side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.tests.http.http_client import WithHttp, with_http


@pytest.fixture
def http() -> Iterator[WithHttp]:
    with with_http() as found:
        yield found
