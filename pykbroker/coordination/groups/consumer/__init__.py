"""Groups of the consumer protocol (KIP-848).

Groups of the consumer protocol (KIP-848): ``group.py`` is the state, which ``replaying.py`` alone changes; ``stepping.py``
is the effect of a request, ``reconciling.py`` moves a member towards its target assignment, ``migration.py`` upgrades and
downgrades groups online.
"""
