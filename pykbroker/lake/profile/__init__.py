"""The profile of a lake: measured in Spark (``aggregation.py``), as numbers (``statistics.py``), plotted (``charts.py``) on a page (``page.py``)."""
