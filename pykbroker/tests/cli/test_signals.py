from __future__ import annotations

import signal

import pytest

from pykbroker.cli.signals import Ended, ends_are_noted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_noted_and_the_next_one_ends(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with ends_are_noted() as ended:
        assert not ended()
        signal.raise_signal(number)
        assert ended()
        with pytest.raises(Ended) as raised:
            signal.raise_signal(number)
    assert raised.value.status == 128 + number
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ends_are_noted() as ended:
            signal.raise_signal(signal.SIGHUP)
            assert not ended()
    finally:
        signal.signal(signal.SIGHUP, before)
