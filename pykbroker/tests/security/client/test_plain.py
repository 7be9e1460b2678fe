"""PLAIN, the client's side, with our broker's."""

from __future__ import annotations

from pykbroker.security.client.plain import PlainLogin
from pykbroker.security.sasl.mechanism import Authenticated
from pykbroker.security.sasl.plain import PlainExchange


def test_one_token_says_it_all() -> None:
    broker, ours = PlainExchange({"br\u00f6t": 'a "b" c'}), PlainLogin("br\u00f6t", 'a "b" c')
    assert ours.answer(broker.evaluate(ours.first())) is None
    assert broker.result == Authenticated("br\u00f6t")
