"""Values into columns: what a schema is and how it grows, and how JSON, Avro, Protobuf and text are read by one.

``decode.py`` is the job. Its tasks (``tasks.py``) run wherever Spark runs Python; what they do not import, the driver does.
"""
