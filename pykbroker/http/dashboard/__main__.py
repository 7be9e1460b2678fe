"""Prints the dashboard in Grafana's import format: ``python -m pykbroker.http.dashboard > pykbroker.json``."""

from __future__ import annotations

import sys

from pykbroker.http.dashboard.grafana import text

sys.stdout.write(text())
