"""One running process of brokers, from its start to its end.

One running process: ``node.py`` starts and stops all brokers, ``single_brokers.py`` single ones; ``life.py`` is the life of
a cluster. ``housekeeping.py`` runs periodic work (``rounds.py``), on each store (``store_housekeeping.py``) retention, flushes,
checkpoints and compaction, in a process of its own (``cleaner.py``). ``limiting.py`` installs quotas, and ``connection_limits.py`` connection limits, when the first one is set.
``listening.py`` opens listeners and computes advertised endpoints (``gateways.py`` detects mapped ports); ``secured.py``
builds secured listeners from settings, also when these are altered or certificates are renewed. ``log_output.py`` writes the
log in a thread, in lines that clients cannot forge (``log_lines.py``); ``notify.py`` notifies systemd; ``garbage.py`` keeps
Python's cyclic garbage collector off the start and off objects that exist by then; ``log_directories.py``,
``descriptors.py`` and ``memory_limit.py`` determine log directories, file limits and the memory budget.
"""
