"""Correctly written programs, one for each client, that live under chaos by hundreds of seeds, and are judged.

``shop.py`` gives each life a cluster of its own and a seed, and judges what became of its records. The programs take lines with
addresses, so that one process lives many lives, several at a time.
"""
