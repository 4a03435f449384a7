"""The audit that anyone can run: does the implementation keep its promise, on this machine?

    Subject      what is audited, by a few doors          Finding    one check, with its confidence
    audit(...)   every check on some plans                Audit      all findings of a run

`hushfade audit` is the command.
"""

from hushfade.audit.effort import FULL, QUICK, TINY, Size
from hushfade.audit.finding import Finding
from hushfade.audit.review import Audit, audit
from hushfade.audit.subject import Subject

__all__ = ["FULL", "QUICK", "TINY", "Audit", "Finding", "Size", "Subject", "audit"]
