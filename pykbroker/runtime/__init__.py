"""What everything below the sockets needs of the process: time, randomness, waits, slices of long work, the memory budget.

``runtime.py`` is what everything below the sockets needs of the process: time, randomness, the end of a turn, threads.
``memory.py`` is the memory budget, ``decoding.py`` what a turn may decode, ``waits.py`` are results that come later,
``timers.py`` one heap of deadlines, ``slices.py`` divides long work over turns of the loop, ``turns.py`` measures turns,
``clock.py`` injects time, ``rates.py`` measures use over it, ``hosts.py`` resolves host names in a thread, ``temporary.py`` removes folders with their process.
``digits.py`` reads numbers in words of strangers, ``json_text.py`` their JSON, and ``escaping.py`` is the one place through which words of strangers go to a terminal, a pipe, the log or a report:
``cli/output.py``, ``container/tools/printing.py``, ``process/log_lines.py`` and ``pytest_plugin.py`` call it, and lint
refuses ``print`` elsewhere in those rooms, ``shared_folders.py`` tells other users' files in ``/tmp``.
"""
