"""Settings of the property tests."""

from __future__ import annotations

from pykbroker.tests.kit.properties import load_profile

load_profile()
