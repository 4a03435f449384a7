"""The way from the shell, as the documentation tells it, against a service of its own."""

import os
import re
import shutil
import socket
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import httpx
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "operate.md"
OPTIONS = ELLIPSIS | NORMALIZE_WHITESPACE
PORT = "8321"


def blocks():
    """The shell blocks of the page, in order."""
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def commands(block):
    """Each command, which goes on after a backslash or a bar, and the output that is told."""
    found, lines = [], iter(block.splitlines())
    for line in lines:
        if line.startswith("# "):
            found[-1][1].append(line.removeprefix("# "))
            continue
        command = line
        while command.endswith(("\\", "|")):
            command += "\n" + next(lines)
        found.append((command, []))
    return [(command, "".join(f"{line}\n" for line in told)) for command, told in found]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def environment():
    """This process's, with the commands of its own directory first."""
    here = Path(sys.executable).parent
    return os.environ | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


def test_the_page_tells_the_whole_way():
    plan, serve, *rest = blocks()
    assert plan.startswith("hushfade plan ")
    assert serve == "hushfade serve --store releases.db\n"
    text = "".join(rest)
    for part in ("datasets", "streams ", "records", "close", "releases", "events"):
        assert part in text


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_way_from_the_shell_is_as_the_page_tells_it(tmp_path):
    port, env = free_port(), environment()
    plan, serve, *rest = blocks()
    subprocess.run(["sh", "-ec", plan], cwd=tmp_path, env=env, check=True, capture_output=True)
    with (tmp_path / "log").open("wb") as log:
        arguments = f"exec {serve.strip()} --port {port}"
        service = subprocess.Popen(
            ["sh", "-c", arguments], cwd=tmp_path, env=env, stdout=log, stderr=log
        )
    try:
        _wait(service, port, tmp_path / "log")
        walked = [step for block in rest for step in commands(block)]
        # one shell for all, since they share its variables; who follows is sent away after a second
        script = "".join(
            f"{command}\nprintf '\\n<<%d>>\\n' $?\n"
            for command, _ in walked
        ).replace(PORT, port).replace("curl -sN", "curl -sN -m 1")  # fmt: skip
        ran = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
    finally:
        service.terminate()
        service.wait(20)
    outputs = re.split(r"\n<<(\d+)>>\n", ran.stdout)
    assert len(outputs) == 2 * len(walked) + 1, ran.stderr
    for (command, told), found, status in zip(walked, outputs[::2], outputs[1::2], strict=False):
        assert status == ("28" if "curl -sN" in command else "0"), (command, ran.stderr)
        assert OutputChecker().check_output(told, found + "\n" if told else found, OPTIONS), (
            command, told, found,
        )  # fmt: skip
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "step 1 of stream 'late' closed" in log
    assert "stopped: all accepted" in log


def _wait(service, port, log):
    for _ in range(600):
        try:
            httpx.get(f"http://127.0.0.1:{port}/ready")
            return
        except httpx.TransportError:
            try:
                service.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(log.read_text(encoding="utf-8")) from None
