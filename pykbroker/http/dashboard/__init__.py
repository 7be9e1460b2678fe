"""The dashboard for Grafana, made of the metrics when it is asked for: ``python -m pykbroker.http.dashboard``."""
