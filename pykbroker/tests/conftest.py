"""Settings of the property tests, and signals as a terminal has them."""

from __future__ import annotations

import signal

from hypothesis import settings

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup, which would hold for what tests start, too
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("pykbroker", deadline=None)  # a busy machine is not a failure
settings.load_profile("pykbroker")
