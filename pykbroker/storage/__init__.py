"""A partition's log on disk: segments, indexes, recovery, retention, compaction, log directories.

A partition's log: ``log/`` (segments and the batches in them, validation, producer state, leader epochs, recovery,
retention), ``index/``, ``compaction/``, ``directories/`` (the log directories, from the start to the clean shutdown);
``disk.py`` is the interface of a disk, ``real_disk.py`` alone accesses data files.
"""
