"""Asking a registry, over real HTTP."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tapelog.client.secret import Secret
from tapelog.client.settings import Store, Tls
from tapelog.spark.plan.errors import PlanError
from tapelog.spark.plan.formats import Registry
from tapelog.spark.registry.client import Registered, RegistryClient
from tapelog.spark.registry.http import NotThereError, RefusedError, RegistryError
from tests.support.certificates import Authority
from tests.support.registry_server import RegistryServer


class Still:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds

    def spread(self) -> float:
        return 0.5


def client(*urls: str, pace: Still | None = None, **more: object) -> RegistryClient:
    return RegistryClient(Registry(tuple(urls), **more), pace or Still())  # type: ignore[arg-type]


def test_a_schema_is_asked_for_once() -> None:
    with RegistryServer() as server:
        number = server.add("s-value", '"string"')
        made = client(server.url)
        assert [made.by_key(number) for _ in range(3)] == [Registered(number, "avro", '"string"')] * 3
        assert server.asked == [f"GET /schemas/ids/{number}"]
        guid = server.schemas[0].guid
        found = made.by_key(guid)
        assert found is not None and found.text == '"string"' and server.asked[-1] == f"GET /schemas/guids/{guid}"


def test_an_id_that_is_not_there_is_not_asked_for_again_at_once() -> None:
    with RegistryServer() as server:
        pace = Still()
        made = client(server.url, pace=pace)
        assert made.by_key(99) is None and made.by_key(99) is None and len(server.asked) == 1
        pace.sleep(31)
        assert made.by_key(99) is None and len(server.asked) == 2


def test_subjects_have_versions_and_odd_names() -> None:
    with RegistryServer() as server:
        server.add("a/b c", '"int"')
        last = server.add("a/b c", '"long"')
        made = client(server.url)
        assert made.by_subject("a/b c").id == last and made.by_subject("a/b c", 1).text == '"int"'
        for subject, version in (("nope", None), ("a/b c", 7)):
            with pytest.raises(NotThereError):
                made.by_subject(subject, version)


def test_references_come_each_after_those_that_it_needs() -> None:
    with RegistryServer() as server:
        server.add("c", "C", "PROTOBUF")
        server.add("b", "B", "PROTOBUF", (("c.proto", "c", 1),))
        number = server.add("a", "A", "PROTOBUF", (("c.proto", "c", 1), ("b.proto", "b", 1)))
        found = client(server.url).by_key(number)
        assert found is not None and found.format == "protobuf"
        assert [one.name for one in found.references] == ["c.proto", "b.proto"]
        server.add("x", "X", "AVRO", (("x", "x", 1),))
        with pytest.raises(RegistryError, match="circle"):
            client(server.url).by_subject("x")


def test_a_schema_is_looked_up_and_registered_and_may_be_refused() -> None:
    with RegistryServer() as server:
        made, schema = client(server.url), Registered(0, "json", "{}")
        assert made.lookup("s", schema) is None
        number = made.register("s", schema)
        assert made.lookup("s", schema) == number and server.subjects["s"][0].kind == "JSON"
        server.refusals["s"] = "Schema being registered is incompatible"
        with pytest.raises(RefusedError, match="incompatible"):
            made.register("s", schema)


def test_trouble_is_waited_out_and_the_next_address_tried() -> None:
    with RegistryServer() as server:
        number = server.add("s", '"int"')
        server.failures = [503, 500]
        pace = Still()
        assert client(server.url, pace=pace).by_key(number) is not None and 0 < pace.at < 1
        gone = "http://127.0.0.1:1"
        made = client(gone, server.url)
        assert made.by_key(number) is not None
        server.failures = [503] * 50
        with pytest.raises(RegistryError) as error:
            client(server.url, gone, retries=2).by_key(number)
        assert "schemaRegistry.url" in str(error.value) and len(str(error.value).splitlines()) == 3


def test_basic_and_bearer_login() -> None:
    with RegistryServer(user="me:pa:ss") as server:
        server.add("s", '"int"')
        assert client(server.url, user="me", password=Secret("pa:ss")).by_subject("s").text == '"int"'
        with pytest.raises(RegistryError, match="let us in") as error:
            client(server.url, user="me", password=Secret("wrong-one")).by_subject("s")
        assert "wrong-one" not in str(error.value) and "basic.auth" in str(error.value)
    with RegistryServer(token="tok") as server:
        server.add("s", '"int"')
        assert client(server.url, token=Secret("tok")).by_subject("s").text == '"int"'


def test_tls_with_and_without_a_certificate_of_ours(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "server.pem").write_bytes(authority.sign("server", "127.0.0.1").pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    trust = Store(content=Secret(authority.pem))
    with RegistryServer(tls=context) as server:
        server.add("s", '"int"')
        identity = Store(content=Secret(authority.sign("me").pem()))
        assert client(server.url, tls=Tls(trust=trust, identity=identity)).by_subject("s").text == '"int"'
        for tls in (Tls(trust=trust), Tls(identity=identity)):
            with pytest.raises(RegistryError):
                client(server.url, tls=tls, retries=0).by_subject("s")


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}"])
def test_whoever_is_no_registry_is_told_so_and_is_not_taken_for_one_without_the_schema(answer: bytes) -> None:
    from tests.support.http_here import HttpHere

    def handle(request: object) -> None:
        request.send_response(404)  # type: ignore[attr-defined]
        request.send_header("Content-Length", str(len(answer)))  # type: ignore[attr-defined]
        request.end_headers()  # type: ignore[attr-defined]
        request.wfile.write(answer)  # type: ignore[attr-defined]

    with HttpHere(handle) as server, pytest.raises(PlanError, match="no schema registry"):
        client(server.endpoint).by_key(1)
