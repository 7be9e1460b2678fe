"""Principals, authorization, TLS, SASL, Kerberos and delegation tokens, as far as they know no socket.

Principals (``context.py``, ``principals.py``, ``distinguished_names.py``), operations, and authorization: ``rules.py`` is a
pure index of access lists, ``authorizer.py`` caches its decisions, ``audit.py`` logs them. ``tls/`` turns stores of every
type into what OpenSSL takes. ``sasl/`` authenticates by pure state machines: ``conversation.py`` is the order of messages,
with a file per mechanism. ``kerberos/`` is GSSAPI, on the package gssapi, which nothing else imports: ``acceptor.py`` for
brokers, ``initiator.py`` for clients, ``names.py`` (pure) maps principals to users, ``login_module.py`` reads both sides'
JAAS options. ``client/`` connects and authenticates by the settings of Kafka's clients. ``http_request.py`` asks token
issuers. ``delegation_tokens.py`` derives tokens' secrets from their ids, ``jaas.py`` reads JAAS values. ``authority.py``
issues certificates for tests and laptops, ``ready_made.py`` all that a listener and its clients need
(``client_settings.py``): in memory for tests, in a folder for ``serve --security`` (``cli/kept_security.py``).
"""
