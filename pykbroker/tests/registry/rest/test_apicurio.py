from __future__ import annotations

import json

import pytest

from pykbroker.registry.errors import RegistryError
from pykbroker.registry.rest.apicurio import CREATE, KINDS, body_of, path_of


def test_what_is_made_is_named_by_a_header() -> None:
    assert path_of(CREATE, {"X-Registry-ArtifactId": "a/b-value"}) == f"{CREATE}/a%2Fb-value"
    assert path_of(CREATE, {"X-Registry-ArtifactId": "\udcff"}) == f"{CREATE}/%ED%B3%BF"  # a byte that is no text
    assert path_of("/subjects", {"X-Registry-ArtifactId": "a"}) == "/subjects"


def test_a_body_is_the_text_of_a_schema_or_an_object_with_its_references() -> None:
    kind = {"X-Registry-ArtifactType": "AVRO"}
    assert body_of(b'"int"', kind, "application/json") == {"schemaType": "AVRO", "schema": '"int"'}
    said = {"content": '"int"', "references": [{"groupId": None, "artifactId": "s", "version": "2", "name": "n"}]}
    assert body_of(json.dumps(said).encode(), {}, KINDS[0]) == {
        "schemaType": None,
        "schema": '"int"',
        "references": [{"name": "n", "subject": "s", "version": 2}],
    }


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff",
        b"[",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"content":"","references":[{}]}',
        b'{"content":"","references":3}',
        b'{"content":"","references":[{"name":"","artifactId":"","version":[]}]}',
    ],
)
def test_what_is_no_body_is_refused(raw: bytes) -> None:
    with pytest.raises(RegistryError) as caught:
        body_of(raw, {}, KINDS[0])
    assert caught.value.status == 422
