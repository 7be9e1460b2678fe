"""The path of a request around its handler: decode, places in a stated order, encode.

``dispatcher.py`` decodes each request, takes it through the named places around its handler and encodes the answer;
``pipeline.py`` states the order of the places, in which authorization comes before all that may answer, and refuses to fill
one twice. ``authentication.py`` takes its place until a SASL connection is authenticated, ``sessions.py`` for sessions of
limited lifetime. ``large.py`` decodes, handles and encodes large requests in slices. ``as_reached.py`` wraps handlers whose
answers name brokers, where clients are answered the address that they connected to.
"""
