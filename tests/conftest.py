"""What several tests share.

What a test does to the process's logging ends with the test: `hushfade serve` sets it up.
"""

import logging

import pytest

NAMES = (
    "hushfade",
    "hushfade.serve",
    "hushfade.store",
    "uvicorn",
    "uvicorn.error",
    "uvicorn.access",
)


@pytest.fixture(autouse=True)
def logging_as_before():
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(each.level, each.propagate, list(each.handlers)) for each in loggers]
    yield
    for each, (level, propagate, handlers) in zip(loggers, before, strict=True):
        each.setLevel(level)
        each.propagate, each.handlers[:] = propagate, handlers


@pytest.fixture(scope="module")
def quick_joint_search():
    """A search for joint plans that tries one of the four shapes.

    It is for tests of what is done with a joint plan; tests/planning/test_joint_plans.py tests the
    whole search.
    """
    from hushfade.planning import joint_plans

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joint_plans, "_SHAPES", (1.0,))
        yield
