"""A broker for each test."""

from pykbroker.tests.testing.conftest import broker

__all__ = ["broker"]
