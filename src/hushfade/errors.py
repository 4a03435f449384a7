"""The errors that hushfade raises.

    HushfadeError
    ├── InvalidValue (ValueError)      an argument breaks its rule
    │   ├── Unstable                   the left factor would grow without bound
    │   ├── Diverges                   a sum over all steps is infinite: give a horizon
    │   └── Malformed                  a file's content breaks a rule; names the file and the line
    ├── InvalidType (TypeError)        an argument has the wrong type
    ├── Refused (RuntimeError)         a correct call would break a promise, as with an old state
    │   └── InUse                      another process holds a lock that this one needs
    └── Failed (RuntimeError)          a store's database cannot be read or written
        └── Unavailable                for a reason that can pass, such as a full disk

    DroppedRecords (UserWarning)       hushfade left records out of the totals

A message names the argument, the rule and the value: 'half_life must be > 0, got nan'.  The error
object stores the three separately, so that the command line can name an option instead of the
argument, and the service can leave out the value.  No message ever contains a record's value, a
noise draw or a key.
"""

from __future__ import annotations

from typing import Self


class HushfadeError(Exception):
    """Every error that hushfade raises on purpose.

    `problem` states the rule that was broken, `argument` names the argument that breaks it, `got`
    is its value, shown as `str(got)`, and `remedy` states what to do.

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
        """The same error with another argument name."""
        return type(self)(self.problem, argument=argument, got=self.got, remedy=self.remedy)


class InvalidValue(HushfadeError, ValueError):
    """An argument has the right type but breaks its rule."""


class InvalidType(HushfadeError, TypeError):
    """An argument has the wrong type."""


class Unstable(InvalidValue):
    """The left factor grows geometrically, because the right one has a zero in the unit disk."""


class Diverges(InvalidValue):
    """The sum over all steps is infinite.  Give a finite horizon."""


class Malformed(InvalidValue):
    """The content of a file or of a stream of lines breaks a rule.

    The message names the place, and never quotes the content.
    """


class Refused(HushfadeError, RuntimeError):
    """The call is correct, but in the current state it would break a promise."""


class InUse(Refused):
    """Another process holds a lock that this one needs.  Try again when that process has ended."""


class Failed(HushfadeError, RuntimeError):
    """A store's database cannot be read or written.  Nothing uncommitted was published."""


class Unavailable(Failed):
    """A store's database cannot be read or written now.  The reason can pass: try again later."""


class DroppedRecords(UserWarning):
    """hushfade left records out of the totals.

    The message states their exact number, which is private: do not publish it.
    """
