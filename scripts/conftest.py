"""Signals as a terminal has them, for runs that are interrupted."""

from __future__ import annotations

from pykbroker.tests.kit.signals import as_at_a_terminal

as_at_a_terminal()
