"""Metrics of the certificates of listeners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import gauge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps

NOT_AFTER: Final = gauge(
    "pykbroker_listener_certificate_not_after_seconds",
    "When a listener's certificate expires, in seconds since 1970.",
    *("broker", "listener"),
    moves="Less than two weeks after time(): renew it, and set the listener's ssl.keystore.location again. --security renews its "
    "own four months before.",
)


class CertificateCollector:
    """``of`` returns the expiry of a broker's certificates by listener."""

    def __init__(self, of: Callable[[int], Mapping[str, int]]) -> None:
        self._of = of

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        for node_id in list(cluster.brokers):
            for listener, seconds in self._of(node_id).items():
                page.add(NOT_AFTER, seconds, node_id, listener)
            yield None
