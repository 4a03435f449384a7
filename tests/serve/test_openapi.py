"""The OpenAPI document describes the service: its routes, and examples that it accepts."""

import pytest
import schemathesis
from starlette.routing import Route

from hushfade.serve import openapi

DOCUMENT = openapi.openapi()


def test_the_document_is_openapi_3_1():
    schemathesis.openapi.from_dict(DOCUMENT).validate()
    assert DOCUMENT["openapi"] == "3.1.0"


def test_what_is_no_openapi_is_not_taken_for_it():
    for change in ({"openapi": "3.1.0", "paths": 1}, {"paths": {"/": {"get": {"responses": 1}}}}):
        with pytest.raises(Exception, match="is not of type"):
            schemathesis.openapi.from_dict(DOCUMENT | change).validate()


def test_the_document_and_the_application_have_the_same_routes(client):
    routes = {
        (method, route.path.replace(":path}", "}"))
        for route in client.app.routes
        if isinstance(route, Route)
        for method in route.methods - {"HEAD"}
    }
    documented = {(m.upper(), path) for path, ways in DOCUMENT["paths"].items() for m in ways}
    assert routes == documented


def test_the_examples_of_the_document_are_accepted(make):
    client = make(scopes=["admin"])
    statuses = {}
    for path, ways in DOCUMENT["paths"].items():
        for method, operation in ways.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is None:
                continue
            content = dict(body["example"])
            if path in ("/v1/datasets", "/v1/streams"):  # the names of the examples are taken
                content["name"] = "another"
            if path in ("/v1/streams", "/v1/joint-charges"):  # without streams it takes any law
                content["dataset"] = "another"
            assert method == "post"
            answer = client.post(path.replace("{name}", "late"), content, as_="admin")
            statuses[path] = answer.status_code
    assert statuses == {
        "/v1/datasets": 201, "/v1/streams": 201, "/v1/streams/{name}/records": 200,
        "/v1/tokens": 201, "/v1/plan": 200, "/v1/joint-charges": 201,
    }  # fmt: skip
