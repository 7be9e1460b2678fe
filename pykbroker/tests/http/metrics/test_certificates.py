"""When the certificates of listeners expire."""

from __future__ import annotations

import time

from pykbroker.tests.http.http_client import WithHttp, of, with_http

NAME = "pykbroker_listener_certificate_not_after_seconds"


def test_every_listener_with_tls_says_when() -> None:
    with with_http(security="ssl", brokers=2) as http:
        assert _days(http) == [365, 365]
        http.kafka.renew_certificate(days=30)  # of the first broker
        assert _days(http) == [30, 365]


def _days(http: WithHttp) -> list[int]:
    """The days that are left to the certificates of the brokers 1 and 2."""
    found = http.metrics()[NAME]
    return [round((of(found, broker=broker, listener="SSL") - time.time()) / 86400) for broker in ("1", "2")]


def test_there_is_none_without_tls() -> None:
    with with_http() as http:
        assert NAME not in http.metrics()
