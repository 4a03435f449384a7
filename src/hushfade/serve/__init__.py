"""The service: one process, one store, HTTP.

    a body → strict JSON → clipped, on the grid → one writer, one commit for all that wait → answer

app        the routes and what each answers            guard      tokens, scopes, rate, sizes
writer     the one thread that changes the store       strict     JSON that says one thing only
grid     from a body to a batch                      refusals   what is refused, as an answer
service    the parts together                          registry   the streams, as readers see them
published  releases as JSON, CSV and Arrow             events     releases as they are made
metrics    the newest releases for a monitor           planner    a plan before there is a stream
schedule   steps that the clock closes                 pages      the page's own files
document   the interface, for machines                 process    the server, and how it stops
"""

from __future__ import annotations

from hushfade.serve.app import application
from hushfade.serve.service import Service

__all__ = ["Service", "application"]
