"""One browser for all tests of the page; a service for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.page import answers
from tests.serve.page.browser import CHROMIUM, Browser
from tests.serve.page.service import Service


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    directory: Path = tmp_path_factory.mktemp("browser")
    made = Browser(directory)
    yield made
    made.close()


@pytest.fixture
def service() -> Iterator[Service]:
    made = answers.service()
    yield made
    made.close()
