"""The real service in a process of its own, and what its senders and keepers ask of it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

import hushfade as hf
from hushfade.store import Store, tokens


class Served:
    """A store that is served on a port of this machine; `scopes` are those of its tokens."""

    def __init__(self, directory: Path, *scopes: str) -> None:
        self._place = directory / "releases.db"
        self._log = directory / "log"
        store = Store.open(self._place)
        self.tokens = {scope: tokens.add(store, scope, [scope]) for scope in scopes}
        store.close()
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._port = found.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}/"
        self._client = httpx.Client(base_url=self.address, timeout=60)
        self._process: subprocess.Popen[bytes] | None = None
        self._sent = 0

    def start(self) -> None:
        """Starts the process, and comes back when it answers."""
        command = [sys.executable, "-m", "hushfade", "serve", "--store", str(self._place)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self._port)], stdout=log, stderr=log
            )
        for _ in range(600):
            try:
                if httpx.get(f"{self.address}ready").status_code == 200:
                    return
            except httpx.TransportError:
                assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
            time.sleep(0.05)
        raise AssertionError("the service never answered")

    def kill(self) -> None:
        """Ends the process at once, as a loss of power would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Ends the process and lets go of it."""
        self.kill()
        self._client.close()

    def ask(self, method: str, path: str, body: Any = None, scope: str = "admin") -> Any:
        """The answer to somebody with that scope."""
        heads = {"Authorization": f"Bearer {self.tokens[scope]}"} if self.tokens else {}
        answered = self._client.request(method, f"v1/{path}", json=body, headers=heads)
        assert answered.status_code < 300, (path, answered.text)
        return answered.json()

    def add_dataset(self, name: str, epsilon: float) -> None:
        """A dataset with a budget."""
        self.ask("POST", "datasets", {"name": name, "epsilon": epsilon, "delta": 1e-6})

    def add_stream(self, name: str, dataset: str, plan: hf.Plan) -> None:
        """A stream whose steps are closed by hand."""
        document = {"name": name, "dataset": dataset, "plan": json.loads(plan.to_json())}
        self.ask("POST", "streams", document)

    def last(self, stream: str) -> int:
        """The stream's last step that is closed, or 0."""
        return int(self.ask("GET", f"streams/{stream}")["step"])

    def send(self, stream: str, records: list[Any], **more: Any) -> str:
        """Sends records; says what became of them."""
        self._sent += 1
        body = {"sender": "sensor", "sequence": self._sent, "records": records, **more}
        return str(self.ask("POST", f"streams/{stream}/records", body, "ingest")["status"])

    def release(self, stream: str, step: int) -> dict[str, Any]:
        """Closes the step; what is published of it."""
        return dict(self.ask("POST", f"streams/{stream}/steps/{step}/close"))
