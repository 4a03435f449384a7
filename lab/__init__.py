"""The evidence: what maintainers run to prove hushfade, and the installed package does not contain.

paper        every bound, table and figure of the paper, recomputed python -m lab.paper
benchmarks   speed as ratios, alone and next to other libraries     python -m lab.benchmarks
audits       the privacy audit at full length, with bugs to catch   python -m lab.audits
soaks        store and service killed, damaged and fuzzed           python -m lab.soaks
tables       the computed tables and pictures of the documentation  python -m lab.tables
scripts      setup of a machine, and extraction of the demo's data
tests        tests of all of these

The modules next to this one serve several of these packages.  The lab may import the helpers of
`tests`, but the tests do not import the lab; an import contract in pyproject.toml enforces that.
"""
