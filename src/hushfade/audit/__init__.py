"""The privacy audit: does this installation keep the guarantee of a plan?

    Subject      the parts of hushfade that are audited    Finding    one check, with its confidence
    audit(...)   all checks on some plans                  Audit      the findings of one run

`hushfade audit` is the command.
"""

from hushfade.audit.effort import FULL, QUICK, TINY, Size
from hushfade.audit.finding import Finding
from hushfade.audit.review import Audit, audit
from hushfade.audit.subject import Subject

__all__ = ["FULL", "QUICK", "TINY", "Audit", "Finding", "Size", "Subject", "audit"]
