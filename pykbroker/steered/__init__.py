"""A process that tests and operators steer: its brokers in a thread or a process, their lives (reset, snapshots), clock, disk
faults and request log, and what commands, HTTP and Python alike can ask of it.

A process that tests and operators steer, below ``http/``, ``cli/`` and ``testing/``, which do not know each other: brokers
on a loop in a thread (``embedded.py``, ``loop.py``), their reset and snapshots (``snapshots.py``), time that stands still
(``clock.py``), disk faults (``disk.py``), the request log (``request_log.py``; ``redaction.py`` removes secrets), and the
dispatcher of a test's broker (``intercept.py``). What can be told to a process is one table of verbs (``verbs/table.py``) on
the objects of ``steering.py``, which HTTP's API and the control socket (``control.py``, for operators on the same machine)
carry out; ``http_side.py`` loads the HTTP side by its name.
"""
