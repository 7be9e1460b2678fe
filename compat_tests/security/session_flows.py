"""Sessions that end (KIP-368), as in ``flows``, on the listener SHORT or one for tokens."""

from __future__ import annotations

import time

from compat_tests.security.flows import Dialogue, Flow, plain
from compat_tests.security.listeners import SESSION_MS, USERS
from compat_tests.security.scram_client import ScramClient
from compat_tests.security.tokens import first_message, now, unsecured
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest

SESSION_FLOWS: dict[str, tuple[str, Flow]] = {}

_OVER_S = SESSION_MS / 1000 + 0.2
#: More than a second, which has to be between two authentications, and less than a session.
_WITHIN_S = 1.2
ALICE = plain("alice", USERS["alice"])


def on(listener: str):
    def add(function: Flow) -> Flow:
        SESSION_FLOWS[function.__name__] = (listener, function)
        return function

    return add


def _sign_in_again(talk: Dialogue, token: bytes = ALICE) -> None:
    talk.handshake("PLAIN")
    talk.token(token)


@on("SHORT")
def session_ends(talk: Dialogue) -> None:
    talk.sign_in()
    talk.look()
    time.sleep(_OVER_S)
    talk.look()


@on("SHORT")
def session_of_an_old_client_ends(talk: Dialogue) -> None:
    talk.handshake("PLAIN")
    talk.token(ALICE, 0)
    talk.look()
    time.sleep(_OVER_S)
    talk.look()


@on("SHORT")
def session_of_the_oldest_client_ends(talk: Dialogue) -> None:
    talk.handshake("PLAIN", 0)
    talk.raw(ALICE)
    talk.look()
    time.sleep(_OVER_S)
    talk.look()


@on("SHORT")
def session_is_renewed(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    _sign_in_again(talk)
    time.sleep(SESSION_MS / 1000 - _WITHIN_S + 0.3)
    talk.look()


@on("SHORT")
def session_is_renewed_twice(talk: Dialogue) -> None:
    talk.sign_in()
    for _ in range(2):
        time.sleep(_WITHIN_S)
        _sign_in_again(talk)
        talk.look()


@on("SHORT")
def session_is_renewed_when_over(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_OVER_S)
    _sign_in_again(talk)
    talk.look()


@on("SHORT")
def session_is_renewed_at_once(talk: Dialogue) -> None:
    talk.sign_in()
    _sign_in_again(talk)
    talk.look()


@on("SHORT")
def session_is_renewed_twice_at_once(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    _sign_in_again(talk)
    _sign_in_again(talk)
    talk.look()


@on("SHORT")
def session_is_renewed_by_another(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    _sign_in_again(talk, plain("mallory", USERS["mallory"]))


@on("SHORT")
def session_is_renewed_with_a_wrong_password(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    _sign_in_again(talk, plain("alice", "wrong"))


@on("SHORT")
def session_is_renewed_by_another_mechanism(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    talk.handshake("SCRAM-SHA-256")
    talk.token(ScramClient("SCRAM-SHA-256", "bob", "bob-secret").first())


@on("SHORT")
def session_is_renewed_by_a_mechanism_that_is_not_there(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    talk.handshake("GSSAPI")


@on("SHORT")
def session_of_scram_is_renewed(talk: Dialogue) -> None:
    for wait_s in (_WITHIN_S, 0):
        own = ScramClient("SCRAM-SHA-256", "bob", "bob-secret")
        talk.handshake("SCRAM-SHA-256")
        talk.seen.append(own.trusts(bytes(talk.token(own.final(bytes(talk.token(own.first())))))))
        time.sleep(wait_s)
    talk.look()


@on("SHORT")
def session_when_a_request_comes_between(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    talk.handshake("PLAIN")
    talk.look()


@on("SHORT")
def session_when_versions_come_first(talk: Dialogue) -> None:
    from compat_tests.security.flows import ASK_VERSIONS

    talk.sign_in()
    time.sleep(_WITHIN_S)
    talk.ask(ASK_VERSIONS, 3)
    _sign_in_again(talk)
    talk.look()


@on("SHORT")
def session_is_renewed_in_version_0(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    talk.handshake("PLAIN", 0)
    talk.raw(ALICE)
    talk.look()


@on("SHORT")
def session_gets_a_token_without_a_handshake(talk: Dialogue) -> None:
    talk.sign_in()
    time.sleep(_WITHIN_S)
    talk.ask(SaslAuthenticateRequest(ALICE), 2)
    talk.look()


@on("TOKENS")
def session_ends_with_the_token(talk: Dialogue) -> None:
    talk.handshake("OAUTHBEARER")
    talk.token(first_message(unsecured(exp=now() + 3)))
    talk.look()
    time.sleep(3.2)
    talk.look()


@on("TOKENS")
def session_goes_on_with_another_token(talk: Dialogue) -> None:
    talk.handshake("OAUTHBEARER")
    talk.token(first_message(unsecured(exp=now() + 3)))
    time.sleep(_WITHIN_S)
    talk.handshake("OAUTHBEARER")
    talk.token(first_message(unsecured(exp=now() + 600)))
    time.sleep(2)
    talk.look()


@on("TOKENS")
def session_does_not_go_on_with_a_token_of_another(talk: Dialogue) -> None:
    talk.handshake("OAUTHBEARER")
    talk.token(first_message(unsecured()))
    time.sleep(_WITHIN_S)
    talk.handshake("OAUTHBEARER")
    talk.token(first_message(unsecured(sub="bob")))
