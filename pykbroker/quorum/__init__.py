"""A broker's side of a controller quorum that other processes are: its copy of the metadata log, and its session with them.

``observer.py`` decides whom to ask for the log and what to do with each answer, as a pure machine: no time, no waits, no files.
``metadata_replica.py`` is the log, its snapshots and the image that they give, on disk as Apache Kafka's; ``observing.py`` carries out what
the observer decides. ``lifecycle.py`` and ``controller_session.py`` do the same with its registration and heartbeats (KIP-631), and
``remote_controller.py`` has what a broker asks the controller for itself. This node never votes (KIP-595, KIP-630, KIP-853).
"""
