"""Handlers of the metadata room without sockets or disk: a controller on a log in memory, real settings."""

from __future__ import annotations

from types import SimpleNamespace

from pykbroker.brokers.auto_creation import AutoCreation
from pykbroker.config.broker import BrokerConfig
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.tests.metadata.fake import make_controller
from pykbroker.wire.errors import KafkaError


class StubBroker:
    """What these handlers use of a broker, and ``ask`` as dispatch would: encode, decode, refusals included."""

    def __init__(self, brokers: int = 1, **settings: str) -> None:
        self.controller = make_controller(brokers)
        config = BrokerConfig({name.replace("_", "."): value for name, value in settings.items()})
        self.cluster = SimpleNamespace(
            metadata=self.controller,
            controller=self.controller,
            auto_creation=AutoCreation(self.controller, config),
            config=config,
            authorizer=None,
        )
        self.image = self.controller.image

    def ask(self, module, request, version, listener="PLAINTEXT"):
        context = RequestContext(request.API_KEY, version, 1, "client", "127.0.0.1", listener, "User:ANONYMOUS")
        encoded = bytearray()
        request.encode(encoded, version)
        received, _ = type(request).decode(bytes(encoded), 0, version)
        try:
            response = module.handle(self, context, received)
            if isinstance(response, Deferred):
                response = response.value
        except KafkaError as error:
            response = module.failed(received, version, error)
        out = bytearray()
        response.encode(out, version)
        kind = next(c for c in type(response).__mro__ if c.__module__.startswith("pykbroker.wire."))
        decoded, end = kind.decode(bytes(out), 0, version)
        assert end == len(out)
        return decoded
