"""The metadata image, built by replaying records, and their log (``__cluster_metadata-0``).

The metadata image, built by replaying records, and their log (``__cluster_metadata-0``); ``java_maps.py`` is the iteration
order of Kafka's maps.
"""
