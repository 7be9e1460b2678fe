"""Prints docs/grafana/pykbroker.json: ``python -m scripts.dashboard > docs/grafana/pykbroker.json``."""

from __future__ import annotations

import sys

from scripts.dashboard.grafana import text

sys.stdout.write(text())
