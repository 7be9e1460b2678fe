"""Clients that follow the protocol as stock ones do, as small as that can be."""
