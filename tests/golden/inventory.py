"""Every command, HTTP route and public Python name, as text.

`python -m tests.golden.inventory` writes commands.txt, routes.txt and names.txt.
"""

from __future__ import annotations

import inspect
import io
import json
import re
import tempfile
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, ForwardRef

import hushfade as hf

FOLDER = Path(__file__).parent
REFERENCE = FOLDER.parents[1] / "docs" / "reference" / "api.md"
WIDTH = 100
METHODS = ("get", "put", "post", "patch", "delete")
PROSE = ("description", "summary", "title", "example", "examples", "operationId")


def commands() -> Iterator[str]:
    """The help of every command, without colour."""
    from rich.console import Console

    from hushfade.cli import app

    names = [name for name in app.resolved_commands() if not name.startswith("-")]
    for words in [[], *([name] for name in names)]:
        text = io.StringIO()
        console = Console(file=text, width=WIDTH, color_system=None, force_terminal=False)
        app.help_print(words, console=console)
        yield f"$ {' '.join(['hushfade', *words, '--help'])}"
        yield from (line.rstrip() for line in text.getvalue().strip().splitlines())
        yield ""


# Routes ---------------------------------------------------------------------------------------


def routes() -> Iterator[str]:
    """Every route of the service, then responses and schemas that routes share, without prose."""
    document = _interface()
    parts = document["components"]
    for path, methods in document["paths"].items():
        for method in filter(methods.__contains__, METHODS):
            route = methods[method]
            scopes = [scope for one in route.get("security", []) for scope in one["token"]]
            yield f"{method.upper()} {path}" + "".join(f" scope={scope}" for scope in scopes)
            for given in [*methods.get("parameters", []), *route.get("parameters", [])]:
                yield f"  {given['in']} {given['name']}: {_json(given, 'in', 'name')}"
            body = route.get("requestBody")
            if body is not None:
                yield from (f"  body {line}" for line in _contents(body))
            for status, response in sorted(route["responses"].items()):
                yield from (f"  {status} {line}" for line in _contents(response))
    for name, response in sorted(parts["responses"].items()):
        yield from (f"response {name}: {line}" for line in _contents(response))
    for name, schema in sorted(parts["schemas"].items()):
        yield f"schema {name}: {_json(schema, 'properties')}"
        for inner, of in sorted(schema.get("properties", {}).items()):
            yield f"  {inner}: {_json(of)}"


def _interface() -> Any:
    """The OpenAPI document as the service sends it, without a socket."""
    from tests.serve.client import Client

    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder) / "releases.db", plans={})
        try:
            return client.get("/openapi.json").json()
        finally:
            client.stop()


def _contents(of: dict[str, Any]) -> Iterator[str]:
    if "$ref" in of:
        yield str(of["$ref"]).rpartition("/")[2]
        return
    headers = "".join(f" {name}" for name in sorted(of.get("headers", {})))
    contents = of.get("content") or {"nothing": {}}
    for kind, content in sorted(contents.items()):
        schema = _json(content["schema"]) if "schema" in content else "{}"
        yield f"{kind} {schema}" + (f" headers:{headers}" if headers else "")


def _json(value: Any, *without: str) -> str:
    if isinstance(value, dict):
        value = {name: inner for name, inner in value.items() if name not in without}
    text = json.dumps(_bare(value), sort_keys=True)
    return text.replace("#/components/schemas/", "")


def _bare(value: Any) -> Any:
    """The value without prose, and without the names of properties losing theirs."""
    if isinstance(value, list):
        return [_bare(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {field: _bare(of) for field, of in inner.items()}
        if name == "properties"
        else _bare(inner)
        for name, inner in value.items()
        if name not in PROSE
    }


# Names ----------------------------------------------------------------------------------------


def names() -> Iterator[str]:
    """Every public name with its signature; below a class its own methods and attributes."""
    listed = set(re.findall(r"^   ([a-zA-Z]\w*(?:\.\w+)*)$", REFERENCE.read_text("utf-8"), re.M))
    listed |= set(hf.__all__)
    for package in {name.rpartition(".")[0] for name in listed} - {""}:
        import_module(f"hushfade.{package}")
        exported = getattr(attrgetter(package)(hf), "__all__", ())
        listed |= {f"{package}.{name}" for name in exported}
    for name in sorted(listed):
        found = attrgetter(name)(hf)
        yield f"{name}{_shown(found)}"
        if isinstance(found, ModuleType):
            yield from (f"  {line}" for line in _members(found, _own(found)))
        elif isinstance(found, type):
            yield from (f"  {line}" for line in _members(found, _inherited(found)))


def _own(module: ModuleType) -> set[str]:
    """What a module offers: `__all__`, or all that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return set(listed)
    own = {
        name
        for name, found in vars(module).items()
        if getattr(found, "__module__", None) == module.__name__
    }
    return {name for name in own if not name.startswith("_")}


def _inherited(cls: type) -> set[str]:
    """The public attributes of a class, without the ones from other libraries."""
    found: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "hushfade":
            found |= set(vars(base)) | set(inspect.get_annotations(base))
    return {name for name in found if not name.startswith("_")}


def _members(of: Any, listed: set[str]) -> Iterator[str]:
    for name in sorted(listed):
        yield f".{name}{_shown(inspect.getattr_static(of, name, None))}"


def _shown(found: Any) -> str:
    """The signature of a function or a class; nothing for an attribute."""
    found = getattr(found, "__func__", found)  # of a class method or a static method
    if not callable(found) or getattr(found, "_is_protocol", False):
        return ""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return "(...)"
    shown = [
        one.replace(annotation=_named(one.annotation), default=_default(one.default))
        for one in signature.parameters.values()
    ]
    result = _named(signature.return_annotation)
    return str(signature.replace(parameters=shown, return_annotation=result))


class _Text:
    """A text that a signature shows without quotation marks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _named(annotation: Any) -> Any:
    """An annotation in the words of the source, on every version of Python."""
    if annotation is inspect.Signature.empty or annotation is None:
        return annotation
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Text(text)


def _default(value: Any) -> Any:
    return (
        value if value is inspect.Signature.empty else _Text(re.sub(r" at 0x\w+", "", repr(value)))
    )


FILES = {"commands.txt": commands, "routes.txt": routes, "names.txt": names}


def text(name: str) -> str:
    """The present content of a file."""
    return "\n".join(FILES[name]()).rstrip() + "\n"


def write() -> None:
    """Write all files."""
    for name in FILES:
        (FOLDER / name).write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    write()
