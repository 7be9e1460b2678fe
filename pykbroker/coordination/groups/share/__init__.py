"""Share groups (KIP-932).

``heartbeats.py`` is the effect of a member's request, ``targets.py`` the assignment, ``initializing.py`` gives partitions
their state at the share coordinator before anybody is assigned them, ``offsets.py`` changes where a group begins.
"""
