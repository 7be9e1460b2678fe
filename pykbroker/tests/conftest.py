"""Settings of the property tests, and signals as a terminal has them."""

from __future__ import annotations

import signal

from hypothesis import settings

from pykbroker.tests.kit.depth import examples

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup, which would hold for what tests start, too
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

#: deadline: a busy machine is not a failure.
settings.register_profile("pykbroker", deadline=None, max_examples=examples(100))
settings.load_profile("pykbroker")
