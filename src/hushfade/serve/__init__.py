"""The service: one process that serves one store over HTTP.

    a body → strict JSON → clipped, on the grid → one writer, one commit per queue → a response

app              the routes and their handlers       guard              tokens, scopes, rates, sizes
handlers         what most routes do                 strict_json        JSON without ambiguity
record_handlers  records and releases                request_parts      what handlers read
declarations     what a request declares             error_responses    errors as HTTP responses
batches          from a body to a batch              statistic_formats  releases of a statistic
statistic_blocks values and intervals, remembered    plan_schemas       the schema of a plan
status_handlers  streams, keys, metrics, readiness   openapi_status     their OpenAPI document
writer           the one thread that writes          large_answers      large answers in pieces
service          the parts together                  registry           the streams, for readers
release_formats  releases as JSON, CSV and Arrow     server_sent_events releases as they are made
metrics          the newest releases for a monitor   planner            a plan before the stream
schedule         steps that the clock closes         page_files         the files of the web page
openapi, schemas the OpenAPI document                process            the server process

limits           what is kept for clients            byte_budget        room for large responses
client_address   clients behind a proxy              connections        idle and slow connections
key_selection    the keys that a request selects     json_pieces        JSON in pieces
shared_texts     texts made once for many clients    sending_pace       few large pieces at a time
clock_watch      whether the clock is trusted        recovery           a store that failed
read_access      a connection for readers            arrival_order      batches before a closing
opening          until the store is open
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hushfade.serve.app import application
from hushfade.serve.service import Service

__all__ = ["Service", "application"]


def __getattr__(name: str) -> Any:
    if name == "process":  # imported on first use, because it imports the HTTP server
        return import_module("hushfade.serve.process")
    raise AttributeError(f"module 'hushfade.serve' has no attribute {name!r}")
