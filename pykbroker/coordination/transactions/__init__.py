"""Transactional ids, as pure decisions.

Transactional ids, as pure decisions (``initializing``, ``adding``, ``ending``). Writing markers is an effect of the decision
to end (``completing.py``); ``admitting.py`` verifies that a batch may be written (KIP-890).
"""
