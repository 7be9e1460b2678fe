"""The registry over HTTP, in a broker that runs: paths, codes, who may ask, and what a reset leaves."""

from __future__ import annotations

import base64
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

pytest.importorskip("avro")
pytest.importorskip("grpc_tools")

from pykbroker.registry.parsing import Parser
from pykbroker.registry.rest.table import ROUTES
from pykbroker.testing import Kafka
from pykbroker.wire.records import Compression, Record, encode_batch

KIND = "application/vnd.schemaregistry.v1+json"
INT = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
MORE = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string"}]}'


class Client:
    """Asks a registry, with headers of its own."""

    def __init__(self, kafka: Kafka) -> None:
        self._where = urlsplit(kafka.schema_registry_url)
        self.headers: dict[str, str] = {}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self._where.hostname or "", self._where.port, timeout=30)
        sent = None if body is None else body if isinstance(body, str | bytes) else json.dumps(body)
        given = {
            "Content-Type": KIND,
            **self.headers,
            **{name.replace("_", "-"): each for name, each in headers.items()},
        }
        connection.request(method, path, sent, given)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, json.loads(content) if content else None

    def code(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, int]:
        status, answer = self.ask(method, path, body, **headers)
        return status, answer["error_code"]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with Kafka(schema_registry=True) as found:
        yield found


@pytest.fixture
def client(kafka: Kafka) -> Client:
    kafka.reset()
    return Client(kafka)


def test_a_schema_is_registered_looked_up_and_deleted(client: Client) -> None:
    status, first = client.ask("POST", "/subjects/s/versions", {"schema": INT})
    assert (status, first["id"], first["version"], first["schema"]) == (200, 1, 1, INT)
    assert client.ask("POST", "/subjects/s/versions", {"schema": INT.replace(",", ", ")})[1]["id"] == 1
    assert client.ask("POST", "/subjects/s", {"schema": INT})[1] == {"subject": "s", **first}
    assert client.ask("GET", "/subjects/s/versions/latest") == (200, {"subject": "s", **first})
    assert client.ask("GET", "/schemas/ids/1") == (200, {"guid": first["guid"], "schema": INT})
    assert client.ask("GET", "/schemas/ids/1/schema") == (200, json.loads(INT))
    assert client.ask("GET", f"/schemas/guids/{first['guid']}") == (200, {"guid": first["guid"], "schema": INT})
    assert client.ask("GET", "/schemas/ids/1/versions") == (200, [{"subject": "s", "version": 1}])
    assert client.ask("DELETE", "/subjects/s/versions/1") == (200, 1)
    assert client.code("GET", "/subjects/s/versions/1") == (404, 40401)
    assert client.ask("GET", "/subjects?deleted=true") == (200, ["s"])
    assert client.ask("DELETE", "/subjects/s?permanent=true") == (200, [1])
    assert client.code("GET", "/schemas/ids/1") == (404, 40403)


def test_an_incompatible_schema_is_refused(client: Client) -> None:
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    status, answer = client.ask("POST", "/subjects/s/versions", {"schema": MORE})
    assert (status, answer["error_code"]) == (409, 409)
    assert all(
        each in answer["message"] for each in ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1", "oldSchemaVersion: 1")
    )
    path = "/compatibility/subjects/s/versions/latest"
    assert client.ask("POST", path, {"schema": MORE}) == (200, {"is_compatible": False})
    assert len(client.ask("POST", f"{path}?verbose=true", {"schema": MORE})[1]["messages"]) == 3
    assert client.ask("PUT", "/config/s", {"compatibility": "forward"}) == (200, {"compatibility": "forward"})
    assert client.ask("GET", "/config/s") == (200, {"compatibilityLevel": "FORWARD"})
    assert client.ask("POST", path, {"schema": MORE}) == (200, {"is_compatible": True})
    assert client.ask("POST", "/subjects/s/versions", {"schema": MORE})[1]["version"] == 2
    assert client.ask("DELETE", "/config/s")[1]["compatibilityLevel"] == "FORWARD"


def test_all_three_types_and_references(client: Client) -> None:
    proto = 'syntax = "proto3";\nmessage P { int32 a = 1; }'
    using = 'syntax = "proto3";\nimport "p.proto";\nmessage Q { P p = 1; }'
    assert client.ask("POST", "/subjects/p/versions", {"schema": proto, "schemaType": "PROTOBUF"})[1]["id"] == 1
    reference = {"name": "p.proto", "subject": "p", "version": 1}
    status, found = client.ask(
        "POST", "/subjects/q/versions", {"schema": using, "schemaType": "PROTOBUF", "references": [reference]}
    )
    assert (status, found["references"], found["schemaType"]) == (200, [reference], "PROTOBUF")
    assert client.ask("GET", "/subjects/p/versions/1/referencedby") == (200, [2])
    assert client.code("DELETE", "/subjects/p") == (422, 42206)
    serialized = client.ask("GET", "/schemas/ids/2?format=serialized")[1]["schema"]
    assert base64.b64decode(serialized)
    assert (
        client.ask("POST", "/subjects/j/versions", {"schema": '{"type":"integer"}', "schemaType": "JSON"})[1]["id"] == 3
    )
    missing = {**reference, "version": 5}
    assert client.code(
        "POST", "/subjects/r/versions", {"schema": using, "schemaType": "PROTOBUF", "references": [missing]}
    ) == (422, 42201)


def test_contexts_have_ids_of_their_own(client: Client) -> None:
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    client.ask("POST", "/subjects/s/versions", {"schema": INT.replace('"R"', '"S"')})
    assert client.ask("POST", "/contexts/.c/subjects/s/versions", {"schema": MORE})[1]["id"] == 1
    assert client.ask("GET", "/contexts") == (200, [".", ".c"])
    assert client.ask("GET", "/subjects") == (200, [":.c:s", "s"])
    assert client.ask("GET", "/contexts/.c/subjects") == (200, [":.c:s"])
    assert client.ask("GET", "/schemas/ids/1?subject=:.c:")[1]["schema"] == MORE
    assert client.ask("GET", "/schemas/ids/1")[1]["schema"] == INT


def test_modes(client: Client) -> None:
    assert client.ask("GET", "/mode") == (200, {"mode": "READWRITE"})
    assert client.ask("PUT", "/mode/i", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert client.ask("POST", "/subjects/i/versions", {"schema": INT, "id": 77, "version": 3})[1]["id"] == 77
    assert client.ask("PUT", "/mode", {"mode": "READONLY"}) == (200, {"mode": "READONLY"})
    assert client.code("POST", "/subjects/s/versions", {"schema": INT}) == (422, 42205)
    assert client.code("PUT", "/mode", {"mode": "NEVER"}) == (422, 42204)
    assert client.code("GET", "/mode/s") == (404, 40409)
    assert client.ask("GET", "/mode/s?defaultToGlobal=true") == (200, {"mode": "READONLY"})


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "/subjects/none/versions", None, (404, 40401)),
        ("POST", "/subjects/none", {"schema": INT}, (404, 40401)),
        ("GET", "/subjects/none/versions/0", None, (422, 42202)),
        ("GET", "/schemas/ids/99999999999", None, (404, 40403)),
        ("GET", "/config/none", None, (404, 40408)),
        ("PUT", "/config", {"compatibility": "SOME"}, (422, 42203)),
        ("PUT", "/config/x%0Ay", {"compatibility": "NONE"}, (422, 42208)),
        ("POST", "/subjects/s/versions", {"schema": "{"}, (422, 42201)),
        ("POST", "/subjects/s/versions", {"schema": INT, "schemaType": "XML"}, (422, 42201)),
        ("POST", "/subjects/s/versions", {"schema": 1}, (422, 422)),
        ("POST", "/subjects/s/versions", {"schema": INT, "references": [{"name": "x"}]}, (422, 422)),
        ("POST", "/subjects/s/versions", {"schema": '"' + "x" * (1 << 20) + '"'}, (422, 42209)),
        ("POST", "/subjects/s/versions", "no json", (400, 400)),
        ("POST", "/subjects/s/versions/1/tags", {}, (404, 404)),
        ("PATCH", "/config", {}, (405, 405)),
    ],
)
def test_refusals_have_the_registrys_codes(
    client: Client, method: str, path: str, body: Any, code: tuple[int, int]
) -> None:
    assert client.code(method, path, body) == code


def test_state_is_a_topic_which_reset_and_snapshots_take_along(kafka: Kafka, client: Client) -> None:
    assert client.ask("GET", "/subjects") == (200, [])
    assert "_schemas" not in kafka.topics()  # it is made by the first write
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    kafka.snapshot("one")
    client.ask("POST", "/subjects/t/versions", {"schema": MORE})
    kafka.restore("one")
    assert client.ask("GET", "/subjects") == (200, ["s"])
    assert client.ask("POST", "/subjects/u/versions", {"schema": MORE})[1]["id"] == 2
    kafka.reset()
    assert client.ask("GET", "/subjects") == (200, [])


def test_what_others_write_to_the_topic_is_read(kafka: Kafka, client: Client) -> None:
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    key = '{"keytype":"SCHEMA","subject":"other","version":1,"magic":1}'
    kafka.produce("_schemas", b"garbage", key=b"neither")
    kafka.produce(
        "_schemas",
        json.dumps({"subject": "other", "version": 1, "id": 9, "schema": MORE, "deleted": False}).encode(),
        key=key.encode(),
    )
    assert client.ask("GET", "/schemas/ids/9")[1]["schema"] == MORE
    assert client.ask("POST", "/subjects/s2/versions", {"schema": INT.replace('"R"', '"T"')})[1]["id"] == 10


def test_a_full_disk_is_told_and_nothing_is_registered(kafka: Kafka, client: Client) -> None:
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    kafka.disk.fail("write", path="*/_schemas-0/*")
    assert client.code("POST", "/subjects/t/versions", {"schema": MORE}) == (500, 50001)
    kafka.reset()
    assert client.ask("POST", "/subjects/t/versions", {"schema": MORE})[0] == 200


def test_pages_of_other_sites_change_nothing(client: Client) -> None:
    body = {"schema": INT}
    assert client.code("POST", "/subjects/s/versions", body, Origin="http://evil.example") == (403, 403)
    assert client.code("POST", "/subjects/s/versions", body, Content_Type="text/plain") == (415, 415)
    assert client.code("GET", "/subjects", Host="evil.example") == (421, 421)
    assert client.code("GET", "http://evil.example/subjects") == (421, 421)  # as a proxy asks


def test_a_protected_broker_has_a_token() -> None:
    with Kafka(schema_registry=True, security="sasl_plaintext", users={"alice": "secret"}) as kafka:
        client, token = Client(kafka), kafka.http_token
        assert token is not None
        assert token in kafka.schema_registry_url
        assert client.code("GET", "/subjects") == (401, 401)
        for wrong in ("Bearer x", "Basic eDp5", "Basic !", f"Digest {token}"):
            assert client.code("GET", "/subjects", Authorization=wrong) == (401, 401)
        basic = base64.b64encode(f"anybody:{token}".encode()).decode()
        for right in (f"Bearer {token}", f"Basic {basic}"):
            assert client.ask("GET", "/subjects", Authorization=right) == (200, [])


def test_without_it_nothing_of_it_is_known() -> None:
    with Kafka() as kafka, pytest.raises(RuntimeError, match="schema_registry=True"):
        _ = kafka.schema_registry_url


@pytest.mark.deep
def test_in_a_process_of_its_own() -> None:
    with Kafka(process=True, schema_registry=True) as kafka:
        assert Client(kafka).ask("POST", "/subjects/s/versions", {"schema": INT})[1]["id"] == 1


def test_a_crowd_of_records_that_are_none_is_read_in_slices(kafka: Kafka, client: Client) -> None:
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    before = sum("of _schemas is left alone" in each for each in kafka.log_lines)
    batch = encode_batch(
        [Record(key=b"k", value=b"") for _ in range(5000)], base_offset=0, compression=Compression.GZIP
    )
    kafka._ask(lambda cluster: cluster.partition("_schemas", 0).append_at_once(memoryview(bytearray(batch))))
    assert client.ask("GET", "/subjects") == (200, ["s"])
    assert sum("of _schemas is left alone" in each for each in kafka.log_lines) - before == 10


def test_long_lists_come_in_pages(client: Client) -> None:
    for number in range(45):
        client.ask("POST", f"/subjects/s{number:02}/versions", {"schema": INT})
    names = [f"s{number:02}" for number in range(45)]
    assert client.ask("GET", "/subjects") == (200, names)
    assert client.ask("GET", "/subjects?offset=10&limit=5") == (200, names[10:15])
    assert [each["subject"] for each in client.ask("GET", "/schemas?offset=1")[1]] == names[1:]


def test_large_schemas_come_in_pieces_with_what_clients_keep_with_them(client: Client) -> None:
    doc = "x" * 100_000
    for number in range(3):
        schema = json.dumps({"type": "record", "name": "R", "doc": doc, "fields": []})
        kept = {"metadata": {"properties": {"n": str(number)}}, "ruleSet": {"domainRules": []}}
        assert client.ask("POST", f"/subjects/s{number}/versions", {"schema": schema, **kept})[0] == 200
    found = client.ask("GET", "/schemas")[1]
    assert found == [client.ask("GET", f"/subjects/s{number}/versions/1")[1] for number in range(3)]
    assert [each["metadata"]["properties"]["n"] for each in found] == ["0", "1", "2"]


@pytest.mark.deep(but=1)
@pytest.mark.parametrize(
    "said",
    [
        {"references": [{"name": "r", "subject": "s", "version": -1}] * 60_000},
        {"metadata": {"properties": {str(number): "v" for number in range(60_000)}}},
        {"ruleSet": {"domainRules": json.loads("[" * 900 + "]" * 900)}},
        {"metadata": {"tags": [[]] * 60_000}},
    ],
    ids=["references", "properties", "depth", "elements"],
)
def test_what_a_schema_says_beside_its_text_is_bounded(client: Client, said: dict[str, Any]) -> None:
    """Each is walked over on the loop, and with each request that asks for it."""
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    for path in ("/subjects/t/versions", "/subjects/s", "/compatibility/subjects/s/versions/latest"):
        assert client.code("POST", path, {"schema": INT, **said}) == (422, 42209)


@pytest.mark.deep(but=1)
@pytest.mark.parametrize(
    "said",
    [
        {"defaultMetadata": {"properties": {str(number): "v" for number in range(60_000)}}},
        {"others": [1] * 60_000},
        {"defaultMetadata": json.loads('{"a":' * 900 + "1" + "}" * 900)},
    ],
    ids=["metadata", "others", "depth"],
)
def test_a_configuration_is_bounded(client: Client, said: dict[str, Any]) -> None:
    """It is walked over on the loop, with each registration."""
    for path in ("/config", "/config/s"):
        assert client.code("PUT", path, {"compatibility": "NONE", **said}) == (422, 42209)


def test_metadata_do_not_grow_with_each_version(client: Client) -> None:
    """Those of a version are those of the one before, with what the configuration adds."""
    client.ask("PUT", "/config/s", {"compatibility": "NONE"})
    found = []
    for number in range(4):
        added = {"properties": {f"{number}-{each}": "v" for each in range(3000)}}
        assert client.ask("PUT", "/config/s", {"defaultMetadata": added})[0] == 200
        found.append(client.ask("POST", "/subjects/s/versions", {"schema": f'{{"type":"fixed","name":"F","size":{number}}}'}))  # fmt: skip
    assert [status for status, _ in found] == [200, 200, 200, 422]
    assert found[-1][1]["error_code"] == 42209


@pytest.mark.parametrize(
    "said", [{"ruleSet": {"domainRules": 5}}, {"ruleSet": {"domainRules": [1]}}, {"metadata": {"sensitive": [[]]}}]
)
def test_misshapen_metadata_and_rules_are_refused(client: Client, said: dict[str, Any]) -> None:
    for path in ("/subjects/t/versions", "/subjects/t", "/compatibility/subjects/t/versions/latest"):
        assert client.code("POST", path, {"schema": INT, **said}) == (422, 422)
    (name, value), = said.items()  # fmt: skip
    for kind in ("default", "override"):
        assert client.code("PUT", "/config/t", {f"{kind}{name[0].upper()}{name[1:]}": value}) == (422, 422)


def test_bodies_in_hand_are_bounded(kafka: Kafka, client: Client) -> None:
    """Whoever promises more large ones is told to come again; small ones are served."""
    where = urlsplit(kafka.schema_registry_url)
    begun = []
    for _ in range(8):
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
        connection.putrequest("POST", "/subjects/s/versions")
        connection.putheader("Content-Type", KIND)
        connection.putheader("Content-Length", str(4 * 1024 * 1024))
        connection.endheaders(b"{")
        begun.append(connection)
    large = {"schema": INT, "schemaType": "AVRO", "metadata": {"properties": {"p": "x" * 65_000}}, "more": "x" * 2000}
    while client.ask("POST", "/subjects/s/versions", large)[0] == 200:
        pass  # until the others are there
    assert client.code("POST", "/subjects/s/versions", large) == (503, 503)
    assert client.ask("POST", "/subjects/s/versions", {"schema": INT})[0] == 200
    for connection in begun:
        connection.close()
    while client.ask("POST", "/subjects/s/versions", large)[0] == 503:
        pass  # until their end is noticed


def test_what_was_decided_before_a_reset_is_not_written_after_it(
    kafka: Kafka, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second parse of a registration is in its turn, on the state that it is decided on."""
    parses = iter(range(10))
    parsing, go_on = threading.Event(), threading.Event()
    parse = Parser.parse

    def slowly(parser: Parser, source: Any) -> Any:
        if source.text == MORE and next(parses) == 1:
            parsing.set()
            assert go_on.wait(30)
        return parse(parser, source)

    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    client.ask("PUT", "/config", {"compatibility": "NONE"})
    monkeypatch.setattr(Parser, "parse", slowly)
    found: list[Any] = []
    asking = threading.Thread(
        target=lambda: found.append(client.code("POST", "/subjects/s/versions", {"schema": MORE}))
    )
    asking.start()
    assert parsing.wait(30)
    kafka.reset()
    go_on.set()
    asking.join()
    assert found == [(500, 50001)]
    assert client.ask("GET", "/schemas") == (200, [])


def test_words_that_are_no_unicode_are_answered(client: Client) -> None:
    schema = json.dumps({"type": "string", "doc": "\ud800"})
    assert client.ask("POST", "/subjects/s/versions", {"schema": schema, "schemaType": "JSON"})[0] == 200
    assert client.ask("GET", "/subjects/s/versions/1")[0] == 200


def test_a_protected_process_of_its_own_has_a_token() -> None:
    with Kafka(process=True, schema_registry=True, security="sasl_plaintext", users={"alice": "secret"}) as kafka:
        assert Client(kafka).code("GET", "/subjects") == (401, 401)
        authorization = f"Bearer {kafka.http_token}"
        assert Client(kafka).ask("GET", "/subjects", Authorization=authorization) == (200, [])


def test_a_broker_without_it_imports_nothing_of_it() -> None:
    program = (
        "import sys\nfrom pykbroker.testing import Kafka\nwith Kafka(http=0): pass\n"
        "print([each for each in sys.modules if each.startswith(('pykbroker.registry', 'avro', 'jsonschema', 'google.protobuf'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_paths_of_apicurio(client: Client) -> None:
    api = "/apis/registry/v2"
    given = {"X_Registry_ArtifactType": "AVRO", "Content_Type": "application/create.extended+json"}
    client.ask("POST", "/subjects/s/versions", {"schema": INT})
    using = {"content": '{"type":"record","name":"Q","fields":[{"name":"r","type":"R"}]}'}
    using["references"] = [{"groupId": None, "artifactId": "s", "version": "1", "name": "R"}]  # type: ignore[assignment]
    status, found = client.ask("POST", f"{api}/groups/default/artifacts", using, X_Registry_ArtifactId="q", **given)
    assert (status, found["id"], found["version"], found["globalId"], found["contentId"]) == (200, "q", "1", 2, 2)
    assert client.ask("GET", f"{api}/groups/default/artifacts/q/meta") == (200, found)
    assert client.ask("GET", f"{api}/groups/default/artifacts/q/versions/1/meta") == (200, found)
    for kind in ("globalIds", "contentIds"):
        assert client.ask("GET", f"{api}/ids/{kind}/2?dereference=false") == (200, json.loads(str(using["content"])))
        named = [{"groupId": "default", "artifactId": "s", "version": "1", "name": "R"}]
        assert client.ask("GET", f"{api}/ids/{kind}/2/references") == (200, named)
    assert client.ask(
        "POST", f"{api}/groups/default/artifacts/q/meta", using["content"], Content_Type="application/json"
    ) == (200, found)
    assert client.code("POST", f"{api}/groups/default/artifacts/none/meta", using["content"]) == (404, 40401)
    assert client.code("GET", f"{api}/groups/other/artifacts/q/meta") == (404, 404)
    assert client.code("POST", f"{api}/groups/default/artifacts", INT, Content_Type="application/json") == (404, 404)
    assert client.code("POST", "/subjects/s/versions", INT, Content_Type="application/x-protobuf") == (415, 415)


def test_filters_and_formats_of_the_description(client: Client) -> None:
    rules = {"domainRules": [{"name": "n", "kind": "CONDITION", "type": "CEL", "mode": "WRITE"}]}
    client.ask("POST", "/subjects/a/versions", {"schema": INT})
    client.ask("POST", "/subjects/b/versions", {"schema": '"int"', "ruleSet": rules})
    assert [each["subject"] for each in client.ask("GET", "/schemas?ruleType=CEL")[1]] == ["b"]
    assert client.ask("GET", "/schemas?ruleType=n") == (200, [])
    client.ask("POST", "/subjects/:.one:a/versions", {"schema": INT})
    assert client.ask("GET", "/contexts?contextPrefix=.o") == (200, [".one"])
    proto = {"schema": 'syntax = "proto3"; message P {}', "schemaType": "PROTOBUF"}
    serialized = client.ask("POST", "/subjects/p/versions?format=serialized", proto)[1]["schema"]
    assert serialized == client.ask("GET", "/subjects/p/versions/1?format=serialized")[1]["schema"]
    assert client.ask("POST", "/", {}) == client.ask("GET", "/") == (200, {})


NAMES = (
    *("\x1b]0;t\x07\x1b[31m", "<img src=x onerror=alert(1)>", "a/b/../c", "..", ".", "%2F", "a%2Fb", "a?b#c", "a\r\nX-Evil: y", " "),
    *("\u202e\u200b\u2028", "\U0001f600", ":.c:x", ":.c:", ":.:", ":*:", ":.<b>:y", "__GLOBAL", "", "\x00", "latest", "-1", '"', "x" * 1001),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_path_with_a_name_that_nobody_means(client: Client, kafka: Kafka, name: str) -> None:
    """Once there is no such subject, and once another registry has written it."""
    value = {"subject": name, "version": 1, "id": 1, "schema": INT}
    for is_there in (False, True):
        if is_there:
            key = {"keytype": "SCHEMA", "subject": name, "version": 1, "magic": 1}
            kafka.create_topic("_schemas", 1)
            kafka.produce("_schemas", json.dumps(value), key=json.dumps(key))
            assert client.ask("GET", "/subjects") == (200, [name])
        for route in sorted(ROUTES, key=lambda each: each.method == "DELETE"):
            if "{subject}" not in route.path and "{context}" not in route.path:
                continue
            path = route.path.replace("{version}", "1")
            for word in ("{subject}", "{context}"):
                path = path.replace(word, quote(name, safe=""))
            body = None if route.method == "GET" else {"schema": INT, "mode": "READWRITE", "compatibility": "NONE"}
            status, answer = client.ask(route.method, path, body, X_Registry_ArtifactId="a")
            assert status < 500, (route, status, answer)
        if not is_there:
            kafka.reset()
