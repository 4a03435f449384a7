"""Plans of tests that are made when a test first uses them, not when the tests are collected."""

from collections.abc import Callable, Iterator, Mapping

from hushfade import Plan


class MadeWhenUsed(Mapping[str, Plan]):
    """Plans by name.  Every worker collects all tests, but makes only the plans of its own."""

    def __init__(self, plans: dict[str, Plan | Callable[[], Plan]]) -> None:
        self._plans = plans

    def __getitem__(self, name: str) -> Plan:
        found = self._plans[name]
        if not isinstance(found, Plan):
            found = self._plans[name] = found()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._plans)

    def __len__(self) -> int:
        return len(self._plans)
