"""A simulated world: brokers, network and clients in one thread, on virtual time, out of one seed.

The brokers are the real ones, on a simulated disk. Clients speak to them in encoded frames through the dispatcher, the
same door that sockets use. What the network, the disk and the clients' machines do to them is drawn from the seed, so
the same seed is the same story, to the last byte. Open in this order: ``world``, ``server``, ``network``, ``process``,
then ``clients``.
"""
