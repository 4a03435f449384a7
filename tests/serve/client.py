"""A service as the tests use it: an event loop in a thread of its own, and requests to it."""

import asyncio
import json
from threading import Thread

import httpx

import hushfade as hf
from hushfade.serve import Service, application
from hushfade.serve.guard import Guard
from hushfade.store import Store, tokens

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLAN = hf.plan(hf.Exponential(half_life=3), ONE, method="square_root")
KEYED = hf.plan(hf.SlidingWindow(length=3), ONE, keys=["at", "ch", "de"], method="square_root")
WIDE = hf.plan(hf.Exponential(half_life=3), ONE, low=-2, high=6, method="square_root")
VECTORS = hf.plan(hf.Exponential(half_life=3), ONE, width=2, norm=1, method="square_root")
UNIT = round(1 / PLAN.grid.resolution)
PLANS = {"late": PLAN, "flights": KEYED, "wide": WIDE, "vectors": VECTORS}
LOCAL = "http://127.0.0.1"


class Client:
    """A served store.  With `scopes` it has a token for each; `as_` says which one is sent."""

    def __init__(
        self, path, *, mark=None, scopes=(), clock=None, plans=PLANS, limits=None, **settings
    ):
        self.store = Store.open(path, mark=mark)
        self.tokens = {scope: tokens.add(self.store, scope, [scope]) for scope in scopes}
        if plans:
            self.store.add_dataset("clinics", hf.Guarantee(epsilon=50, delta=1e-6))
        for name, plan in plans.items():
            self.store.add_stream(name, plan, dataset="clinics")
        guard = Guard(tokens.kept(self.store), **settings)
        clocks = {}
        if clock is not None:
            clocks = {"clock": clock, "monotonic": getattr(clock, "monotonic", clock)}
        self.service = Service(self.store, guard, limits=limits, **clocks)
        self.app = application(self.service)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.run(self._lifespan.__aenter__())
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url=LOCAL)

    def run(self, work):
        """What the coroutine returns, in the service's loop."""
        return self.start(work).result(20)

    def start(self, work):
        """The future of the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def request(self, method, path, *, as_=None, **more):
        return self.run(self.requested(method, path, as_=as_, **more))

    def requested(self, method, path, *, as_=None, headers=None, **more):
        sent = httpx.Headers(headers)
        if as_ is not None:
            sent["Authorization"] = f"Bearer {self.tokens[as_]}"
        return self._client.request(method, path, headers=sent, **more)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, content=None, **more):
        """The content is sent as JSON in ASCII, whatever its letters are."""
        if content is None:
            return self.request("POST", path, **more)
        headers = {"Content-Type": "application/json"}
        return self.request("POST", path, content=json.dumps(content), headers=headers, **more)

    def send(self, records, sequence=1, *, stream="late", sender="a", **more):
        """Send records as JSON."""
        content = {"sender": sender, "sequence": sequence, "records": records, **more}
        return self.post(f"/v1/streams/{stream}/records", content)

    def close_step(self, step, stream="late"):
        return self.post(f"/v1/streams/{stream}/steps/{step}/close")

    def totals(self, stream="late"):
        """What is open, in units of the grid, as it is on the disk."""
        return self.store.live(stream).totals.tolist()

    def state(self):
        """All that records change."""
        return {
            name: (live.totals.tolist(), live.records, dict(live.senders), live.steps)
            for name in self.store.streams()
            if (live := self.store.live(name))
        }

    def stop(self):
        """Stop the service, as often as wanted."""
        if self._loop.is_closed():
            return
        self.run(self._client.aclose())
        self.run(self._lifespan.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.store.close()


class Listener:
    """One request for events, whose lines are read as they come."""

    def __init__(self, client, path, headers=()):
        path, _, query = path.partition("?")
        self._client = client
        self.status, self.text = None, ""
        self._more = asyncio.Event()
        self._gone = asyncio.Event()
        self._scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "path": path, "raw_path": path.encode(), "root_path": "", "scheme": "http",
            "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
            "headers": [(b"host", b"127.0.0.1"), *headers],
        }  # fmt: skip
        self.task = client.start(client.app(self._scope, self._receive, self._send))

    async def _receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()
        self._more.set()

    def until(self, text):
        """All that came, once this has come."""

        async def wait():
            while text not in self.text:
                self._more.clear()
                await self._more.wait()
            return self.text

        return self._client.run(wait())

    def leave(self):
        async def go():
            self._gone.set()

        self._client.run(go())
        self.task.result(20)


def events(text):
    """The events in a text, as (id, event, data)."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if "data" in fields:
            found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
    return found
