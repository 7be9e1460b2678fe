"""Classic groups, in which a member computes the assignment.

Classic groups, in which a member computes the assignment: ``group.py`` is the state and its transitions, which
``joining.py``, ``syncing.py`` and ``leaving.py`` make for requests.
"""
