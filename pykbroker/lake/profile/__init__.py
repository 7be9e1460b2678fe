"""The profile of a lake: measured in Spark (``measuring.py``), as numbers (``facts.py``), plotted (``charts.py``) on a page (``page.py``)."""
