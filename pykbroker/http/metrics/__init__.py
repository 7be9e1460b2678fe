"""Metrics in Prometheus' text format, under the names that dashboards for Kafka know.

``metric.py`` is what a metric is, ``page.py`` the page of one scrape, ``scrape.py`` how it is written in slices; every other
module is one subject, with its metrics and a collector that reads them off the broker. ``catalogue.py`` has them all.
"""
