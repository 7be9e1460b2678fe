"""Sockets, TLS, frames, and the order of responses.

Sockets: ``server.py`` and ``sockets.py`` listen (``binding.py``; ``entering.py`` accepts what libuv would leave waiting);
``admission.py`` accepts connections of listeners with security, on TLS (``tls.py``); ``acceptor.py`` accepts those of
listeners with limits, counted in ``limited.py``. ``connection.py`` parses frames in place, in a receive block that
connections share (``receive_block.py``), and claims memory for larger frames (``claim.py``). Responses leave in request
order (``pending_responses.py``), written once per turn (``outgoing.py``); a connection that does not take its responses is
not read from. Records of a large Fetch answer stay in their files until the client takes them (``streaming.py``).

``nodes.py`` are connections to other nodes, on which ``handshake.py`` is said first.
"""
