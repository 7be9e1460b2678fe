"""What the coordinators share: shards that decide, and the runtime that appends, waits and answers.

What a broker's coordinators share; ``coordinators.py`` has a row for each kind. A shard per partition of the coordinator's
topic decides and never writes (``shard.py``). ``CoordinatorRuntime.ask`` (``runtime.py``) takes a step, a function of the
shard, and carries out its ``Outcome`` (``outcome.py``): append and replay (``appending.py``), wait for the commit, effects,
replies, deadlines (``deadlines.py``). ``shards.py`` loads shards in slices (``log_replay.py``) and drops them when another
broker leads. ``host.py`` has the ports to other coordinators and to leaders, in this process or not; ``markers.py``
implements the one to leaders of this process.
"""
