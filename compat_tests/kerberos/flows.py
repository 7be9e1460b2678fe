"""Ways to sign in with a ticket, good and bad, frame by frame: what is seen of each is compared between the brokers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compat_tests.security.flows import ASK_VERSIONS, Dialogue
from pykbroker.tests.kit.kerberos import initiator
from pykbroker.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateResponse

OFFER = b"\1\1\0\0"
#: More than the second that has to be between two authentications.
_WITHIN_S = 1.2

#: Principals, and their ticket caches; of those in ``TIMES`` what a client says first whose clock is wrong.
Tickets = dict[str, Path]
TIMES = ("-1d", "+1d")
Flow = Callable[[Dialogue, Tickets], None]
FLOWS: dict[str, tuple[str, Flow]] = {}


def flow(function: Flow) -> Flow:
    return on("TICKETS")(function)


def on(listener: str) -> Callable[[Flow], Flow]:
    def add(function: Flow) -> Flow:
        FLOWS[function.__name__] = (listener, function)
        return function

    return add


def say(talk: Dialogue, token: bytes, version: int = 2) -> bytes:
    """One token. What of the answer is another each time is not noted."""
    answer = talk.token(token, version)
    if answer:
        talk.seen[-1] = (SaslAuthenticateResponse.__name__, "a token")
    return answer


def greet(talk: Dialogue, client: Any) -> bytes:
    """As far as to the broker's offer."""
    talk.handshake("GSSAPI")
    if answer := say(talk, client.step()):
        client.step(answer)
        if answer := say(talk, b""):
            offer = client.unwrap(answer)
            talk.seen.append((offer.message, offer.encrypted))
    return answer


def sign_in(talk: Dialogue, cache: Path, last: bytes = OFFER, *, encrypted: bool = False, version: int = 2) -> None:
    client = initiator(cache)
    if greet(talk, client):
        say(talk, client.wrap(last, encrypted).message, version)


def look(talk: Dialogue) -> None:
    """Whether requests are served, and who asks: who makes a delegation token owns it."""
    answer: Any = talk.ask(CreateDelegationTokenRequest(), 3)
    if answer is not None:
        talk.seen[-1] = (answer.error_code, answer.principal_type, answer.principal_name)


@flow
def all_in_order(talk: Dialogue, tickets: Tickets) -> None:
    talk.ask(ASK_VERSIONS, 3)
    sign_in(talk, tickets["alice"])
    look(talk)


@flow
def old_version(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], version=0)
    look(talk)


def _raw(talk: Dialogue, client: Any) -> None:
    """The last token is not answered."""
    for said in (client.step(), b""):
        answer = talk.raw(said)
        if answer is None:
            return
        talk.seen[-1] = "a token"
        offer = client.unwrap(answer).message if client.complete else client.step(answer)
    talk._connection.send_raw(client.wrap(offer, False).message)
    look(talk)


@flow
def raw_tokens(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI", 0)
    _raw(talk, initiator(tickets["alice"]))


@flow
def raw_tokens_without_a_handshake(talk: Dialogue, tickets: Tickets) -> None:
    """As clients of Kafka 0.9 begin."""
    _raw(talk, initiator(tickets["alice"]))


@flow
def a_raw_token_that_is_none_without_a_handshake(talk: Dialogue, tickets: Tickets) -> None:
    talk.raw(b"\x60\x82\x01\x02 a ticket")


@flow
def a_raw_token_after_versions(talk: Dialogue, tickets: Tickets) -> None:
    talk.ask(ASK_VERSIONS, 3)
    talk.raw(initiator(tickets["alice"]).step())


@flow
def not_mutual(talk: Dialogue, tickets: Tickets) -> None:
    client = initiator(tickets["alice"], mutual=False)
    talk.handshake("GSSAPI")
    talk.seen.append(client.unwrap(say(talk, client.step())).message)
    say(talk, client.wrap(OFFER, False).message)
    look(talk)


@flow
def in_the_name_of_another(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], OFFER + b"bob")
    look(talk)


@flow
def last_word_encrypted(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], encrypted=True)
    look(talk)


@flow
def a_size_of_nothing(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], b"\1\0\0\0")
    look(talk)


@flow
def every_layer(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], b"\7\1\0\0")
    look(talk)


@flow
def with_integrity(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], b"\2\1\0\0")


@flow
def with_no_layer_at_all(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], b"\0\1\0\0")


@flow
def last_word_too_short(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"], b"\1")


@flow
def last_word_of_another_context(talk: Dialogue, tickets: Tickets) -> None:
    if greet(talk, initiator(tickets["alice"])):
        say(talk, b"nothing")


@flow
def something_where_nothing_is_to_be_said(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, initiator(tickets["alice"]).step())
    say(talk, b"more")


@flow
def no_token(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, b"")


@flow
def a_token_that_is_none(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, b"nonsense")


@flow
def a_token_that_is_cut(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, initiator(tickets["alice"]).step()[:-1])


@flow
def a_token_that_is_spoiled(talk: Dialogue, tickets: Tickets) -> None:
    token = bytearray(initiator(tickets["alice"]).step())
    token[-1] ^= 1
    talk.handshake("GSSAPI")
    say(talk, bytes(token))


@flow
def a_token_that_is_sent_twice(talk: Dialogue, tickets: Tickets) -> None:
    token = initiator(tickets["alice"]).step()
    first = Dialogue(talk.address)
    first.handshake("GSSAPI")
    assert first.token(token)
    first.end()
    talk.handshake("GSSAPI")
    say(talk, token)


@flow
def a_ticket_for_another_service(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, initiator(tickets["alice"], "http/localhost").step())


@flow
def a_ticket_that_is_over(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, tickets["-1d"].read_bytes())


@flow
def a_ticket_that_is_not_good_yet(talk: Dialogue, tickets: Tickets) -> None:
    talk.handshake("GSSAPI")
    say(talk, tickets["+1d"].read_bytes())


@flow
def a_service(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["worker/host"])
    look(talk)


@flow
def a_name_of_three_parts(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["a/b/c"])
    look(talk)


@on("ENCRYPTED")
def over_tls(talk: Dialogue, tickets: Tickets) -> None:
    all_in_order(talk, tickets)


@on("ENCRYPTED")
def over_tls_a_token_that_is_spoiled(talk: Dialogue, tickets: Tickets) -> None:
    a_token_that_is_spoiled(talk, tickets)


@on("ENCRYPTED")
def over_tls_with_integrity(talk: Dialogue, tickets: Tickets) -> None:
    with_integrity(talk, tickets)


@on("RULES")
def a_service_by_a_rule(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["worker/host"])
    look(talk)


@on("RULES")
def a_name_without_a_rule(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"])
    look(talk)


@on("LONG")
def signed_in_again(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"])
    time.sleep(_WITHIN_S)
    sign_in(talk, tickets["alice"])
    look(talk)


@on("LONG")
def signed_in_again_as_another(talk: Dialogue, tickets: Tickets) -> None:
    sign_in(talk, tickets["alice"])
    time.sleep(_WITHIN_S)
    sign_in(talk, tickets["worker/host"])
    look(talk)
