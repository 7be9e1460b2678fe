"""Ways to sign in by OAUTHBEARER, good and bad: as in ``flows``, each on the listener that it names."""

from __future__ import annotations

import warnings
from typing import Any

from compat_tests.security.flows import Dialogue, Flow
from compat_tests.security.tokens import Issuer, claims, first_message, now, part, unsecured

#: Name to listener and flow.
TOKEN_FLOWS: dict[str, tuple[str, Flow]] = {}
ISSUER = Issuer()


def _signs_in(message: bytes, *, acknowledges: bytes = b"\x01") -> Flow:
    def run(talk: Dialogue) -> None:
        talk.handshake("OAUTHBEARER")
        refusal = talk.token(message)
        if refusal:
            talk.seen.append(bytes(refusal))
            talk.token(acknowledges)
        talk.look()

    return run


_ONE = unsecured()
_HEADER, _CLAIMS, _ = _ONE.split(".")
_MESSAGES: dict[str, bytes] = {
    "good": first_message(_ONE),
    "for_himself": first_message(_ONE, "alice"),
    "for_another": first_message(_ONE, "bob"),
    "extensions": first_message(_ONE, pairs="traceId=123\x01other=a b\x01"),
    "extension_auth": first_message(_ONE, pairs="auth=Bearer x\x01"),
    "extension_odd_name": first_message(_ONE, pairs="trace_id=1\x01"),
    "extension_empty": first_message(_ONE, pairs="trace=\x01"),
    "lower_case_scheme": first_message(_ONE).replace(b"Bearer", b"bearer"),
    "another_scheme": first_message(_ONE).replace(b"Bearer", b"Basic"),
    "no_scheme": first_message(_ONE).replace(b"Bearer ", b""),
    "two_blanks": first_message(_ONE).replace(b"Bearer ", b"Bearer  "),
    "no_auth": b"n,,\x01\x01",
    "only_extensions": b"n,,\x01a=b\x01\x01",
    "nothing": b"",
    "one_byte": b"\x01",
    "channel_binding": first_message(_ONE).replace(b"n,", b"y,", 1),
    "no_end": first_message(_ONE)[:-1],
    "not_utf_8": b"n,,\x01auth=Bearer \xff\x01\x01",
}
_TOKENS: dict[str, str] = {
    "two_parts": _ONE[:-1],
    "four_parts": f"{_ONE}x.",
    "signature": f"{_ONE}abc",
    "two_dots": f"{_HEADER}..",
    "no_parts": "abc",
    "padded": f"{_HEADER}==.{_CLAIMS}.",
    "other_alphabet": unsecured(sub="~" * 9).replace("_", "/").replace("-", "+"),
    "not_json": f"{_HEADER}.{part(b'{nothing')}.",
    "empty_claims": f"{_HEADER}.{part(b'{}')}.",
    "claims_a_list": f"{_HEADER}.{part(b'[1]')}.",
    "alg_rs256": unsecured({"alg": "RS256"}),
    "alg_none_large": unsecured({"alg": "NONE"}),
    "url_alphabet": unsecured(sub="~" * 9),
    "expired": unsecured(exp=now() - 5),
    "no_exp": unsecured(exp=None),
    "exp_text": unsecured(exp=str(now() + 100)),
    "exp_true": unsecured(exp=True),
    "exp_fraction": unsecured(exp=now() + 1800.5),
    "iat_future": unsecured(iat=now() + 600),
    "iat_after_exp": unsecured(iat=now() - 5, exp=now() - 6),
    "no_iat": unsecured(iat=None),
    "iat_text": unsecured(iat="yesterday"),
    "no_sub": unsecured(sub=None),
    "sub_blank": unsecured(sub="  "),
    "sub_padded": unsecured(sub=" al "),
    "sub_number": unsecured(sub=5),
    "sub_true": unsecured(sub=True),
    "sub_list": unsecured(sub=["alice"]),
    "sub_object": unsecured(sub={}),
    "scope_number": unsecured(scope=5),
    "scope_words": unsecured(scope="a b"),
}
_SCOPED: dict[str, str] = {
    "good": unsecured(who="carol", roles=["a", "b", "c"]),
    "one_missing": unsecured(who="carol", roles=["a"]),
    "none": unsecured(who="carol"),
    "in_one_text": unsecured(who="carol", roles="a b"),
    "a_text": unsecured(who="carol", roles="a"),
    "no_who": unsecured(roles=["a", "b"]),
    "padded": unsecured(who="carol", roles=[" a ", "b"]),
    "within_skew": unsecured(who="carol", roles=["a", "b"], exp=now() - 100),
    "iat_within_skew": unsecured(who="carol", roles=["a", "b"], iat=now() + 100),
}


def _signed() -> dict[str, str]:
    sign = ISSUER.sign
    good = sign()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # keys that are too short are the point
        small, hmac = sign("small"), sign("rsa", "HS256", "a secret that is long enough for it")
    return {
        "rs256": good,
        "rs512": sign(algorithm="RS512"),
        "ps256": sign(algorithm="PS256"),
        "es256": sign("ec", "ES256"),
        "no_kid": sign(None),
        "another_kid": sign("ec", key=ISSUER.keys["rsa"]),
        "unknown_kid": sign("other", key=ISSUER.stranger),
        "stranger": sign(key=ISSUER.stranger),
        "small_key": small,
        "hs256": hmac,
        "none": unsecured(),
        "none_with_signature": f"{unsecured()}abc",
        "spoilt": good[:-10] + ("A" if good[-10] != "A" else "B") + good[-9:],
        "two_parts": good.rpartition(".")[0],
        "audience_list": sign(aud=["x", "other"]),
        "audience_another": sign(aud="x"),
        "no_audience": sign(aud=None),
        "issuer_another": sign(iss="https://other.example"),
        "no_issuer": sign(iss=None),
        "expired": sign(exp=now() - 900),
        "within_skew": sign(iat=now() - 200, exp=now() - 100),
        "exp_before_iat": sign(iat=now() + 200, exp=now() + 100),
        "exp_before_nbf": sign(nbf=now() + 200, exp=now() + 100),
        "no_exp": sign(exp=None),
        "exp_text": sign(exp="soon"),
        "exp_negative": sign(exp=-1),
        "no_iat": sign(iat=None),
        "iat_future": sign(iat=now() + 900),
        "iat_zero": sign(iat=0),
        "nbf_future": sign(nbf=now() + 900),
        "nbf_within_skew": sign(nbf=now() + 100),
        "no_sub": sign(sub=None),
        "sub_blank": sign(sub=" "),
        "sub_padded": sign(sub=" alice "),
        "sub_number": _with_claims(claims(sub=5)),
        "sub_not_ascii": sign(sub="sm\u00f8r"),
        "scope_text": sign(scope="a b"),
        "scope_blank": sign(scope=" "),
        "scope_twice": sign(scope=["a", "a "]),
        "scope_number": sign(scope=5),
        "jti_number": _with_claims(claims(jti=5)),
        "critical": _with_claims(claims(), {"crit": ["exp"], "exp": 1}),
        "claims_a_list": _with_claims([1]),
    }


def _with_claims(payload: Any, header: dict[str, Any] | None = None) -> str:
    """What PyJWT would not sign."""
    head = {"alg": "RS256", "typ": "JWT", "kid": "rsa", **(header or {})}
    signed = f"{part(head)}.{part(payload)}"
    import jwt

    algorithm = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256)
    return f"{signed}.{part(algorithm.sign(signed.encode(), ISSUER.keys['rsa']))}"


TOKEN_FLOWS |= {f"bearer_{name}": ("TOKENS", _signs_in(message)) for name, message in _MESSAGES.items()}
TOKEN_FLOWS |= {f"unsecured_{name}": ("TOKENS", _signs_in(first_message(token))) for name, token in _TOKENS.items()}
TOKEN_FLOWS |= {f"scoped_{name}": ("SCOPED", _signs_in(first_message(token))) for name, token in _SCOPED.items()}
TOKEN_FLOWS |= {f"signed_{name}": ("SIGNED", _signs_in(first_message(token))) for name, token in _signed().items()}
TOKEN_FLOWS |= {
    f"any_audience_{name}": ("SIGNED_FOR_ALL", _signs_in(first_message(ISSUER.sign(aud=audience, iss=None))))
    for name, audience in {"none": None, "one": "x", "empty": []}.items()
}
TOKEN_FLOWS["refused_then_good"] = (
    "TOKENS",
    _signs_in(first_message(unsecured(exp=1)), acknowledges=first_message(_ONE)),
)
TOKEN_FLOWS["refused_then_refused"] = (
    "TOKENS",
    _signs_in(first_message(unsecured(exp=1)), acknowledges=first_message(unsecured(exp=2))),
)
