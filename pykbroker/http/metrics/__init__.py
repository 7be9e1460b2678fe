"""Metrics in Prometheus' text format, under the names that dashboards for Kafka use.

``metric.py`` defines a metric, ``page.py`` is the page of one scrape, ``scrape.py`` writes it in slices. Every other
module is one subject: its metrics, and a collector that reads them from the broker. ``catalogue.py`` lists all.
"""
