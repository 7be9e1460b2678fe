from __future__ import annotations

import pytest

from pykbroker.registry.errors import RegistryError
from pykbroker.registry.subjects import LATEST, checked, context_of, normal, qualified, split, version_number


@pytest.mark.parametrize(
    ("subject", "context", "name"),
    [
        ("orders-value", ".", "orders-value"),
        (":.:orders", ".", "orders"),
        (":.dev:orders", ".dev", "orders"),
        (":.dev:", ".dev", ""),
        (":.a:b:c", ".a", "b:c"),
        (":dev:orders", ".", ":dev:orders"),  # a context begins with a dot
    ],
)
def test_a_subject_is_in_a_context(subject: str, context: str, name: str) -> None:
    assert split(subject) == (context, name)
    assert context_of(subject) == context
    assert split(qualified(context, name)) == (context, name)


def test_the_default_context_is_not_named() -> None:
    assert normal(":.:orders") == "orders"
    assert normal(":.dev:orders") == ":.dev:orders"


@pytest.mark.parametrize("subject", ["", "a\nb", "a\x00", "__GLOBAL", ":.c:__EMPTY", "x" * 1001])
def test_what_is_no_subject_is_refused(subject: str) -> None:
    with pytest.raises(RegistryError, match="is not a valid subject") as caught:
        checked(subject)
    assert (caught.value.code, caught.value.status) == (42208, 422)


@pytest.mark.parametrize(("text", "number"), [("latest", LATEST), ("-1", LATEST), ("1", 1), ("2147483647", 2**31 - 1)])
def test_versions(text: str, number: int) -> None:
    assert version_number(text) == number


@pytest.mark.parametrize("text", ["0", "-2", "2147483648", "", "one", "1.0", "²", "9" * 50])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(RegistryError, match="not a valid version id") as caught:
        version_number(text)
    assert caught.value.code == 42202
