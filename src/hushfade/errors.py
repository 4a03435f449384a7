"""The errors that hushfade raises.

    HushfadeError
    ├── InvalidValue (ValueError)      an argument breaks its rule
    │   ├── Unstable                   a factor whose left half would grow without bound
    │   ├── Diverges                   a sum over all steps that is infinite: give a horizon
    │   └── Malformed                  a file's content breaks a rule: file and line are named
    ├── InvalidType (TypeError)        an argument of the wrong type
    ├── Refused (RuntimeError)         a correct call that would break a promise now: an old state
    │   └── InUse                      another process holds what this one needs
    └── Failed (RuntimeError)          a store's database cannot be read or written

    DroppedRecords (UserWarning)       records that entered no total

A message names the argument, the rule and the value: 'half_life must be > 0, got nan'.  An error
keeps the three apart.  The command line names an option in place of the argument, and the service
leaves out the value.  No message ever contains a record's value, a noise draw or a key.
"""

from __future__ import annotations

from typing import Self


class HushfadeError(Exception):
    """Every error that hushfade raises on purpose.

    `problem` is what is wrong, `argument` the name of the argument that breaks a rule, `got` its
    value, shown as `str(got)`, and `remedy` what to do about it.

    >>> error = HushfadeError("must be > 1", argument="alpha", got=1.0, remedy="use NoDecay()")
    >>> str(error), error.rule
    ('alpha must be > 1, got 1.0: use NoDecay()', 'alpha must be > 1')
    """

    def __init__(
        self,
        problem: str = "",
        *,
        argument: str | None = None,
        got: object = None,
        remedy: str | None = None,
    ) -> None:
        self.problem, self.argument, self.got, self.remedy = problem, argument, got, remedy
        value = "" if got is None else f", got {got}"
        super().__init__(self.rule + value + ("" if remedy is None else f": {remedy}"))

    @property
    def rule(self) -> str:
        """The message without the value."""
        return self.problem if self.argument is None else f"{self.argument} {self.problem}"

    def about(self, argument: str) -> Self:
        """The same error about an argument of that name."""
        return type(self)(self.problem, argument=argument, got=self.got, remedy=self.remedy)


class InvalidValue(HushfadeError, ValueError):
    """An argument has the right type and breaks its rule."""


class InvalidType(HushfadeError, TypeError):
    """An argument has a type that is not accepted here."""


class Unstable(InvalidValue):
    """The left factor grows geometrically: the right one has a zero inside the unit disk."""


class Diverges(InvalidValue):
    """The sum over all steps is infinite: only a finite horizon has an answer."""


class Malformed(InvalidValue):
    """The content of a file or a stream of lines breaks a rule; names the place, never content."""


class Refused(HushfadeError, RuntimeError):
    """The call is correct, but here and now it would break a promise."""


class InUse(Refused):
    """Another process holds what this one needs; try again when it has ended."""


class Failed(HushfadeError, RuntimeError):
    """A store's database cannot be read or written.  What was not committed was not published."""


class DroppedRecords(UserWarning):
    """Records entered no total.  The message counts them exactly: it is not for publication."""
