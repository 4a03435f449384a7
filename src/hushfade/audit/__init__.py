"""The privacy audit: does this installation keep the guarantee of a plan?

    Subject      the implementation under audit     Finding    the result of one check
    audit(...)   runs all checks on some plans      Audit      the findings of one run

The command is `hushfade audit`.
"""

from hushfade.audit.effort import FULL, QUICK, TINY, Size
from hushfade.audit.finding import Finding
from hushfade.audit.review import Audit, audit
from hushfade.audit.subject import Subject

__all__ = ["FULL", "QUICK", "TINY", "Audit", "Finding", "Size", "Subject", "audit"]
