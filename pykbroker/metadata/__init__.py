"""The metadata image, built by replaying records, and their log (``__cluster_metadata-0``).

``loading.py`` replays batches; ``comparison.py`` tells what differs between two images; ``java_maps.py`` is the iteration order of Kafka's
maps.
"""
