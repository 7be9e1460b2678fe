"""Settings of the property tests, and signals as a terminal has them."""

from __future__ import annotations

from pykbroker.tests.kit.properties import load_profile
from pykbroker.tests.kit.signals import as_at_a_terminal

as_at_a_terminal()
load_profile()
