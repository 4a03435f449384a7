"""The privacy audit at full length: `make audit`, or `python -m lab.audits`.

full_audit       hushfade's own audit, on plans of every kind
bug_search       the audit on seeded bugs, each of which it must detect
mutants          the audit on copies of the package with one line changed
false_alarms     the audit on the unchanged code under many seeds, which must pass
other_auditors   the auditors of other libraries on the same releases
fuzzing          every parser and loader under malformed input
"""
