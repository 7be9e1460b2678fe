"""GSSAPI: brokers and clients of one realm, whose KDC is MIT's."""
