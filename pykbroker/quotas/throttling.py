"""The client quotas of a process: read from the metadata, and applied by a dispatcher step while there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.quotas.limits import QuotaLimits
from pykbroker.quotas.mutations import ClientMutations
from pykbroker.quotas.step import BrokerUsage, ThrottleStep
from pykbroker.quotas.usage import RateUsage, TokenUsage
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.rates import Windows

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.requests.dispatcher import Dispatcher

PRODUCE: Final = "producer_byte_rate"
FETCH: Final = "consumer_byte_rate"
TIME: Final = "request_percentage"
MUTATIONS: Final = "controller_mutation_rate"


class Throttling:
    """See the module; one per cluster."""

    def __init__(self, cluster: Cluster, dispatcher: Dispatcher) -> None:
        self._places = dispatcher.places
        self._windows = windows(cluster.config, "quota")
        quotas = cluster.metadata.image.client_quotas
        #: By key, for the uses of all brokers.
        self._limits = {key: QuotaLimits(quotas, key) for key in (PRODUCE, FETCH, TIME, MUTATIONS)}
        #: Use by broker; mutations are counted for the cluster.
        self.brokers: dict[int, BrokerUsage] = {}
        self.mutations = TokenUsage(self._limits[MUTATIONS], windows(cluster.config, "controller.quota"))
        self._charge = cluster.local_controller.charge if cluster.governs else _charge_remotely
        self._client_mutations = ClientMutations(self.mutations, cluster.runtime.clock)
        self._step = ThrottleStep(self._of_broker, self.mutations, cluster.runtime.clock)
        self._is_in = False
        self._put_in_or_take_out()

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Read altered quotas again after a metadata change; a metadata subscriber."""
        if delta.client_quotas:
            for limits in self._limits.values():
                limits.alter(delta.client_quotas, image.client_quotas)
            self._put_in_or_take_out()

    def stop(self) -> None:
        """Remove the step: nobody is throttled any more."""
        if self._is_in:
            self._places.empty(Place.THROTTLE)
            self._charge(None)
            self._is_in = False

    def _put_in_or_take_out(self) -> None:
        if not any(self._limits.values()):
            self.stop()
        elif not self._is_in:
            self._places.fill(Place.THROTTLE, through(self._step))
            self._charge(self._client_mutations)
            self._is_in = True

    def _of_broker(self, node_id: int) -> BrokerUsage:
        usage = self.brokers.get(node_id)
        if usage is None:
            usage = self.brokers[node_id] = BrokerUsage(
                RateUsage(self._limits[PRODUCE], self._windows),
                RateUsage(self._limits[FETCH], self._windows),
                RateUsage(self._limits[TIME], self._windows, most_ms=self._windows.size_ms),
            )
        return usage


def _charge_remotely(_: object) -> None:
    """Mutations are charged where the controller is."""


def windows(config: BrokerConfig, prefix: str) -> Windows:
    """The windows from the settings ``prefix``.window.num and ``prefix``.window.size.seconds."""
    return Windows(config[f"{prefix}.window.num"], config[f"{prefix}.window.size.seconds"] * 1000)
