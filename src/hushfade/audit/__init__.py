"""The privacy audit: does this installation keep the guarantee of a plan?

    Subject      the implementation under audit     Finding    the result of one check
    audit(...)   runs all checks on some plans      Audit      the findings of one run

The command is `hushfade audit`.

subject          Subject; R̃, L and L⁻¹ as the audit sees them; noise that the audit chooses
findings         Finding, Size, Audit, and the randomness of a run
law_formulas     probabilities and privacy losses of the noise laws, by other formulas
records          what single records count, and what a stream refuses
exact_checks     R̃ x, persons, claims and the accountant: by integers and fractions
replay_checks    keyed noise repeats, other noise never does
sampled_checks   law and independence of the noise, likelihood ratio of neighbouring streams
review           audit: all checks on all plans
"""

from hushfade.audit.findings import FULL, QUICK, TINY, Audit, Finding, Size
from hushfade.audit.review import audit
from hushfade.audit.subject import Subject

__all__ = ["FULL", "QUICK", "TINY", "Audit", "Finding", "Size", "Subject", "audit"]
