"""Decodes values into columns: schemas and their evolution, and the decoding of JSON, Avro, Protobuf and text.

``decode.py`` is the job. Its tasks (``tasks.py``) run on the workers; modules that the tasks do not import run on the driver only.
"""
