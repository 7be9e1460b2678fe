"""A simulated world: brokers, network and clients in one thread, on virtual time, out of one seed.

The brokers are the real ones, on a simulated disk. Clients speak to them in encoded frames through the dispatcher, the
same door that sockets use. What the network, the disk and the clients' machines do to them is drawn from the seed, so
the same seed is the same story, to the last byte. Open in this order: ``world``, ``server``, ``network``, ``process``,
then ``clients``.

The stories of our own tests, not installed: clients that speak frames to the dispatcher on virtual time, a disk with cold
files; the disk is that of ``worlds/``. It stays beside ``worlds/`` since its clients need no loop and no sockets: a story of
thousands of requests is ten times as quick, and it judges what brokers may answer, where a world judges programs.
"""
