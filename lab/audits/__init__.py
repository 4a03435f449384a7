"""The privacy audit at full length: `make audit`, or `python -m lab.audits`.

ours             hushfade's own audit: plans of every kind, seeded bugs, and false alarms
other_auditors   the auditors of other libraries on the same releases
fuzzing          every parser and loader under malformed input
"""
