"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("pykbroker", deadline=None)  # a busy machine is not a failure
settings.load_profile("pykbroker")
