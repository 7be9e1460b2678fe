"""Seeds: topics and records as files, imported into a cluster and exported from it.

Topics and records as files: ``reading.py`` parses YAML, JSON, JSON lines, CSV or an object into a ``Seed`` and reports
errors with line and column (``parsing.py`` is the format, ``plain_records.py`` one record; only ``yaml_text.py`` imports
PyYAML). ``loading.py`` writes a seed into a cluster in slices, ``dumping.py`` extracts one, ``writing.py`` writes its file.
"""
