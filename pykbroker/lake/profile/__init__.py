"""A profile of a lake: measured in Spark (``measuring.py``), as numbers (``facts.py``), drawn (``charts.py``) on one page (``page.py``)."""
