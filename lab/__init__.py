"""Development code, which maintainers run and the installed package does not contain.

benchmarks   speed as ratios, alone and next to other libraries     python -m lab.benchmarks
audits       the privacy audit at full length, with bugs to catch   python -m lab.audits
soaks        store and service killed, damaged and fuzzed           python -m lab.soaks
tables       the computed tables and pictures of the documentation  python -m lab.tables
scripts      setup of a machine, and extraction of the demo's data
tests        tests of all of these

The modules next to this one serve several of these packages.  `tests` and `lab` do not import each
other; an import contract in pyproject.toml enforces that.
"""
