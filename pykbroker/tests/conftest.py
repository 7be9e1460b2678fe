"""Settings of the property tests, and signals as a terminal has them."""

from __future__ import annotations

import signal

from pykbroker.tests.kit.properties import load_profile

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup, which would hold for what tests start, too
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

load_profile()
