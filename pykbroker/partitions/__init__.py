"""A partition: its leader, its high watermark, and the requests that wait for it.

``partition.py`` is one partition: its leader, its high watermark, and the requests that wait for it. ``internal_records.py``
appends the broker's own records; ``append_queue.py`` holds batches whose records a thread reads first, ``record_chunks.py``
decodes a stranger's batch for the process itself, ``group_commit.py`` lets waiting produces share one fsync;
``dormant_logs.py`` opens closed logs on first use, read by a thread; ``fetch_sessions.py`` (KIP-227),
``replica_selector.py`` (KIP-392); ``log_moves.py`` moves logs between log directories.
"""
