"""Recordings of requests and responses, and their replay against a broker.

Recorded traffic: ``recording.py`` records a dispatcher's requests and answers, ``session.py`` is the file, ``playing.py``
replays it to a broker and ``comparing.py`` compares the answers; ``values.py`` is messages as JSON.
"""
