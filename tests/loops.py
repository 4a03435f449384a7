"""One test for many cases: an invariant is one item, not a thousand."""

import functools
import inspect


def for_each(names, values):
    """Run the test for every value, and name the case that fails.

    It reads like `pytest.mark.parametrize` and stacks in the same way: two of them are the product
    of their values.  The cases share the fixtures, so a test that changes a fixture cannot use it.
    """
    names = (names,) if isinstance(names, str) else tuple(names)
    cases = [
        dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in values
    ]
    assert cases, f"{', '.join(names)}: a loop without cases tests nothing"

    def decorate(test):
        signature = inspect.signature(test)
        missing = set(names) - set(signature.parameters)
        assert not missing, f"{test.__name__} has no argument {', '.join(sorted(missing))}"

        @functools.wraps(test)
        def loop(**rest):
            for case in cases:
                try:
                    test(**rest, **case)
                except BaseException as error:
                    error.add_note(
                        ", ".join(f"{key} = {said(value)}" for key, value in case.items())
                    )
                    raise

        others = [each for each in signature.parameters.values() if each.name not in names]
        loop.__signature__ = signature.replace(parameters=others)
        return loop

    return decorate


def said(value):
    """A function by its name, anything else by the beginning of its repr."""
    return value.__name__ if inspect.isfunction(value) else f"{value!r:.300}"
