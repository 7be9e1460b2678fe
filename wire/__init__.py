"""Kafka's protocol, bytes to values and back; a link to the repository's ``wire/``.

The protocol, bytes to values and back. ``scripts/wiregen`` generates ``messages/``, ``sliced/`` (the same for long messages,
a few elements at a time) and ``internal/`` from Kafka's schemas; ``records.py``, ``batch_header.py`` and ``compression.py``
are record batches, ``codecs.py`` (imported with the first compressed one) is what the codecs do, ``record_walk.py`` passes over their records in the memory of some pieces.
"""
