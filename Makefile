# Two commands on a fresh machine: `make demo` and `make test`.  Each sets up .venv first.  The tests
# also use PostgreSQL and Chromium: root installs them from Debian, and without them their tests are
# skipped.

PYTHON ?= python3
# one more than the cores of a small machine: some tests wait for other processes
WORKERS ?= 3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable
SCRIPTS := lab/scripts
TESTS := tests lab/tests src README.md CONTRIBUTING.md docs
# The tests start some hundred processes: without bytecode each would compile every library again.
unexport PYTHONDONTWRITEBYTECODE
# One worker runs all tests of a file; conftest.py groups the tests and puts the slow ones first.
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# the mechanism from record to release: no subprocess, service, Spark or picture
CORE := $(wildcard $(addprefix tests/,test_*.py factors privacy private crossing public planning stream records releases)) src

.PHONY: help demo test tests loops check quick lint bench audit soak tables paper docs setup programs clean

help:            ## what can be made
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 14

demo: .venv/installed ## the main job on real data: late departures of a year, privately, every hour
	$(BIN)/hushfade demo

test:            ## lint, docs, all tests and examples except the longest
	@$(MAKE) --no-print-directory -j setup programs
	@$(MAKE) --no-print-directory -j lint docs tests

tests: setup programs loops
	$(PYTEST) -m "not long" $(TESTS)

# Otherwise every worker would compile the same loops.
loops: setup
	$(BIN)/python -m lab.compile_loops

check: setup     ## the quick part, for daily work: lint, and the tests of the core
	@$(MAKE) --no-print-directory -j lint quick

quick: setup
	$(PYTEST) -m "not slow and not long" $(CORE)

lint: setup      ## ruff, mypy --strict, import contracts, discouraged words in prose
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m lab.discouraged_words

bench: setup     ## speed as ratios, alone and beside peers, written to docs/results
	$(INSTALL) '.[bench]'
	$(BIN)/python -m lab.benchmarks

audit: setup     ## the promise at length, with seeded bugs, other auditors and fuzzers, written to docs/results
	$(INSTALL) '.[audit]'
	$(BIN)/python -m lab.audits

soak: setup programs ## the longest tests; the store and its service killed, damaged and fuzzed at length, written to docs/results
	$(PYTEST) -m long $(TESTS)
	$(BIN)/python -m lab.soaks.neighbours
	$(BIN)/python -m lab.soaks
	$(BIN)/python -m lab.soaks --only persons
	$(BIN)/python -m lab.soaks.daily_files
	$(BIN)/python -m lab.soaks.load

tables: setup    ## the computed tables and pictures of the documentation
	$(INSTALL) '.[bench]'
	$(BIN)/python -m lab.tables

paper: setup     ## the whole report on the paper, written to docs/paper/report
	$(BIN)/python -m lab.paper --output docs/paper/report

docs: setup      ## the documentation, warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

setup: .venv/ready

programs: .venv/programs .venv/java-ready

.venv/created: $(SCRIPTS)/make-venv
	PYTHON=$(PYTHON) sh $<
	@touch $@

.venv/installed: pyproject.toml | .venv/created
	$(INSTALL) .
	@touch $@

.venv/ready: pyproject.toml | .venv/created
	$(INSTALL) '.[test,lint,docs]'
	@touch .venv/installed $@

.venv/programs: $(SCRIPTS)/make-postgres $(SCRIPTS)/make-chromium | .venv/created
	sh $(SCRIPTS)/make-postgres
	sh $(SCRIPTS)/make-chromium
	@touch $@

.venv/java-ready: $(SCRIPTS)/make-java | .venv/ready
	sh $<
	@touch $@

clean:           ## remove what was built
	rm -rf .venv docs/_build docs/reference/names .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo-output paper-output lab/.environments
