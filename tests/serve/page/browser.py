"""A headless Chromium, driven over two pipes by the DevTools protocol: no package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

EVENTS = "text/event-stream"

_KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " ")}  # codes and texts, where they matter

WAIT = 30.0  # seconds until a thing that must come is missed; a slow machine needs some

# Chromium reads commands from descriptor 3 and writes to 4, whatever numbers the pipes got here.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Unanswered(AssertionError):
    """The browser cannot do what it was asked for."""


class Browser:
    """One process; its pages are tabs with storage of their own."""

    def __init__(self, directory: Path) -> None:
        assert CHROMIUM is not None
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        # Numbers above 4 for both ends, so that neither is overwritten before it is moved.
        ends = [os.dup(end) for end in (read_commands, write_answers)]
        options = (
            "--headless=new --no-sandbox --disable-gpu --no-first-run --hide-scrollbars "
            "--disable-background-networking --disable-dev-shm-usage --remote-debugging-pipe"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *map(str, ends), CHROMIUM, *options.split(),
             f"--user-data-dir={directory}"],
            pass_fds=ends, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (read_commands, write_answers, *ends):
            os.close(end)
        self._rest = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What the browser answers; events that come before are given to their pages."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 2 * WAIT
        while True:
            found = self._next(deadline, method)
            if found.get("id") == self._number:
                if "error" in found:
                    raise Unanswered(f"{method}: {found['error']}")
                return dict(found["result"])
            page = self._pages.get(found.get("sessionId", ""))
            if page is not None:
                page.hear(found["method"], found["params"])

    def _next(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, f"Chromium did not answer {method}"
            piece = os.read(self._answers, 1 << 16)
            assert piece, "Chromium has ended"
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))

    @contextmanager
    def page(self, address: str, *, width: int = 1200, dark: bool = False) -> Iterator[Page]:
        """A tab at the address, with nothing remembered from others."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.call(
            "Browser.grantPermissions", browserContextId=context,
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
        )  # fmt: skip
        page = Page(self, session["sessionId"])
        self._pages[page.session] = page
        try:
            page.open(address, width=width, dark=dark)
            yield page
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)
            del self._pages[page.session]

    def close(self) -> None:
        """Ends the process."""
        self.call("Browser.close")
        self._process.wait(WAIT)
        os.close(self._commands)
        os.close(self._answers)


class Page:
    """A tab: what it shows, what it complains about, what it asks for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self.session = session
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.failures: list[str] = []
        self._answered: dict[str, str] = {}  # addresses by request, of answers that are whole
        self._begun: list[str] = []  # requests that are answered bit by bit
        self._streamed: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def open(self, address: str, *, width: int, dark: bool) -> None:
        """Goes to the address."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers for this tab."""
        found = self._browser.call(method, self.session, **parameters)
        while self._begun:  # such an answer must be asked for while it comes
            number = self._begun.pop()
            with suppress(Unanswered):  # it is over already: it has come as a whole, or not at all
                early = self._browser.call(
                    "Network.streamResourceContent", self.session, requestId=number
                )
                later = self._streamed.get(number, "")
                self._streamed[number] = _decoded(early["bufferedData"]) + later
        return found

    def hear(self, method: str, event: dict[str, Any]) -> None:
        """Keeps complaints and requests."""
        if method == "Runtime.exceptionThrown":
            detail = event["exceptionDetails"]
            self.errors.append(detail.get("exception", {}).get("description", detail["text"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(x.get("value")) for x in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{event['entry']['text']} {event['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
            self._addresses[event["requestId"]] = event["request"]["url"]
        elif method == "Network.responseReceived":
            response = event["response"]
            if response["status"] >= 400:
                self.failures.append(f"{response['status']} {response['url']}")
            if response["mimeType"] == EVENTS:
                self._begun.append(event["requestId"])
        elif method == "Network.dataReceived" and "data" in event:
            number = event["requestId"]
            self._streamed[number] = self._streamed.get(number, "") + _decoded(event["data"])
        elif method == "Network.loadingFinished":
            if event["requestId"] not in self._streamed:
                self._answered[event["requestId"]] = self._addresses[event["requestId"]]
        elif method == "Network.loadingFailed" and not event.get("canceled", False):
            address = self._addresses[event["requestId"]]
            self.failures.append(f"{event['errorText']} {address}")

    def received(self) -> list[tuple[str, str]]:
        """All answers that came here, whole or bit by bit: their addresses and texts."""
        self.value("0")  # events that wait are heard
        found = [(self._addresses[number], text) for number, text in self._streamed.items()]
        for number, address in list(self._answered.items()):
            body = self.call("Network.getResponseBody", requestId=number)
            text = _decoded(body["body"]) if body["base64Encoded"] else body["body"]
            found.append((address, text))
        return found

    def value(self, script: str) -> Any:
        """What the expression is worth; promises are awaited."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found.get("exceptionDetails")
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """Waits until the expression is true, and gives it."""
        deadline = time.monotonic() + WAIT
        while not (found := self.value(script)):
            assert time.monotonic() < deadline, f"never true: {script}\n{self.errors}"
            time.sleep(0.03)
        return found

    def text(self, selector: str) -> str:
        """The text of the first such element, once there is one; spaces are joined."""
        chosen = json.dumps(selector)
        self.until(f"document.querySelector({chosen}) !== null")
        return " ".join(self.value(f"document.querySelector({chosen}).textContent").split())

    def click(self, selector: str) -> None:
        """Clicks the first such element."""
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, selector: str, text: str) -> None:
        """Puts the text in place of what a field holds, as a person's typing would."""
        self.value(
            f"{{const f = document.querySelector({json.dumps(selector)}); f.focus(); f.select();}}"
        )
        self.call("Input.insertText", text=text)

    def tap(self, selector: str) -> None:
        """Clicks the first such element with the mouse, where it can be seen."""
        place = (
            f"{{const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
            "[r.x + r.width / 2, r.y + r.height / 2]}"
        )
        x, y = self.value(place)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Presses and lets go a key."""
        code, text = _KEYS.get(key, (0, ""))
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )  # fmt: skip

    def picture(self, file: Path) -> None:
        """Writes a picture of the whole page."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))


def _decoded(data: str) -> str:
    return base64.b64decode(data).decode("utf-8", "replace")
