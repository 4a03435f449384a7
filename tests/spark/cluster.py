"""A cluster of two workers, each with its own address of this machine, while it is used."""

import os
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGKILL

import pyspark

HOME = Path(pyspark.__file__).parent
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ADDRESSES = ("127.0.0.1", "127.0.0.2")  # Spark runs a slow task again on another host only


@contextmanager
def cluster(place):
    """The address of a master with two workers of one core."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        asked = ("--host", "127.0.0.1", "--port", str(port))
        stack.enter_context(running(place, "master.Master", *asked))
        for address in ADDRESSES:
            asked = ("--host", address, "--cores", "1", "--memory", "1g", master)
            stack.enter_context(running(place, "worker.Worker", *asked))
        wait_for_workers(place / "cluster.log", len(ADDRESSES))
        yield master


@contextmanager
def running(place, name, *words):
    """One of Spark's own servers."""
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    settings = {
        "SPARK_HOME": str(HOME), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_WORKER_DIR": str(place / "work"), "SPARK_WORKER_WEBUI_PORT": "0",
        "SPARK_MASTER_WEBUI_PORT": "0",
    }  # fmt: skip
    with (place / "cluster.log").open("a") as log:
        server = subprocess.Popen(
            [*command, *words], env=os.environ | settings, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(server.pid, SIGKILL)
        server.wait()


def wait_for_workers(log, count):
    until = time.monotonic() + 120
    while log.read_text().count("Successfully registered with master") < count:
        assert time.monotonic() < until, log.read_text()[-2000:]
        time.sleep(0.1)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
