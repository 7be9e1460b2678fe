"""The kit: what tests are made of. Read this before you write one.

**Where a test goes.** ``pykbroker/<room>/x.py`` is tested in ``pykbroker/tests/<room>/test_x.py``. A test whose subject is
wider than one module (a model of a whole room, a crash, a crowd) is listed with its reason in ``test_mirror.py``, which
compares the two trees. ``storage/support.py`` has a store alone, without brokers.

**What it runs on.** The first of these that shows what you want to see; each is the real thing, and none sleeps:

- The module itself. State machines are pure: make one, and ask it.
- ``cluster.MemoryCluster``: the brokers of one process in memory. Real are the dispatcher with every handler behind it,
  store, metadata log, controller and coordinators; simulated are the disk and the clock. Requests are encoded and
  answers decoded in the version that is asked for; time passes when the test says so::

      world = MemoryCluster(brokers=2, offsets_topic_num_partitions="1")  # settings, "_" for "."
      world.topic("t", partitions=2, retention_ms="1000")
      answer = world.ask(MetadataRequest(topics=None), 12, broker=2)      # broker 1 where none is named
      waiting = world.post(fetch, 11)                                     # a wait for the answer
      world.advance(500)                                                  # milliseconds, and what becomes due
      world.restart(kill=True)                                            # on the same disk

  The disk refuses, dies or forgets when it is told to: ``world.disk.fail``, ``world.disk.crash`` (``simdisk.py``), or in
  one word ``with world.full_disk():``. Brokers stop and start again by ``with world.without(2):``. Threads are held by
  ``world.hold_threads()``, so that syncs end when the test says so.
- ``groups.GroupCluster`` and ``configs.ConfigCluster``: the same, with the requests of a group, or of settings, in short
  form. ``transactions.Producer`` is a client of any of them; its methods return error codes.
- ``calls.Client``: a connection without a socket, whose requests' calls are counted.
- ``large_requests.ROWS``: a request of every API with as many things as a frame holds.
- ``metadata.MetadataDirectory``: a metadata log and the controller on it, with no brokers around them.
- ``running.running_broker``: a node on real sockets, disk and loop, for what is about these alone; ``Client`` sends raw
  frames. ``secured.secured_node`` is one with listeners for TLS and SASL, for whose stores ``certificates`` has an
  authority. What a MemoryCluster shows as well does not belong there: its answers do not depend on the machine.
- ``pykbroker.simulation``: many seeds of clients, faults and crashes, in virtual time.

**What stands in for what.** Nothing does where the real thing can be had in milliseconds: no mocks, and no copy of a way
that requests take. A port (a Protocol of ours) may have an implementation in a test that answers when the test says so.
What is to fail fails where it would: at the disk, in a thread, at a broker that stops.

A test that cannot fail is a defect: break the code once, and see it fail.
"""
