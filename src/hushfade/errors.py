"""What hushfade raises.

    HushfadeError
    ├── InvalidValue (ValueError)      an argument breaks its rule
    │   ├── Unstable                   a factor whose left half would grow for ever
    │   ├── Diverges                   a sum over all steps that is infinite: give a horizon
    │   └── Malformed                  a file's content breaks a rule: file and line are named
    ├── InvalidType (TypeError)        an argument of the wrong kind
    ├── Refused (RuntimeError)         a right call at the wrong time: an old state
    └── Failed (RuntimeError)          a store's database cannot be read or written

A message names the argument, the rule and the value: 'half_life must be > 0, got nan'.
No message ever carries a record's value, a noise draw or a key.
"""

from __future__ import annotations


class HushfadeError(Exception):
    """Every error that hushfade raises on purpose."""


class InvalidValue(HushfadeError, ValueError):
    """An argument has the right type and breaks its rule."""


class InvalidType(HushfadeError, TypeError):
    """An argument is of a kind that is not accepted here."""


class Unstable(InvalidValue):
    """The left factor grows geometrically: the right one has a zero inside the unit disk."""


class Diverges(InvalidValue):
    """The sum over all steps is infinite: only a finite horizon has an answer."""


class Malformed(InvalidValue):
    """The content of a file or a stream of lines breaks a rule; the place is named, no content."""


class Refused(HushfadeError, RuntimeError):
    """The call is right, but here and now it would break a promise."""


class Failed(HushfadeError, RuntimeError):
    """A store's database cannot be read or written.  What was not committed was not published."""
