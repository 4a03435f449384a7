# Two commands on a fresh machine: `make demo` and `make test`.  Both set up .venv themselves.  The
# second also installs PostgreSQL and Chromium for its tests: from Debian, if run as root.

PYTHON ?= python3
BIN := .venv/bin
PARTS := test,lint,docs
# Tests of one file share a worker, and so do all Spark tests: see conftest.py.
PYTEST := $(BIN)/pytest -n 2 --dist loadgroup
# Quick tests: no service, no browser, no Spark, no pictures, no chapters of the paper.
QUICK := tests/numerics tests/factors tests/privacy tests/private tests/public tests/crossing \
	tests/planning tests/stream tests/records tests/releases

.PHONY: help demo test check lint bench audit soak tables paper docs setup clean

help:            ## what can be made
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 14

demo: .venv/installed ## the main job on real data: late departures of a year, privately, every hour
	$(BIN)/hushfade demo

test: setup .venv/programs ## lint, docs, and all tests and examples except the longest
	$(MAKE) --no-print-directory -j2 lint docs
	$(PYTEST) -m "not long" tests dev/tests src README.md CONTRIBUTING.md docs

check: setup lint ## the quick part, for daily work
	$(PYTEST) -m "not slow and not long" $(QUICK)

lint: setup      ## ruff, mypy --strict, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: setup     ## speed as ratios, alone and beside peers, written to docs/results
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m dev.benchmarks

audit: setup     ## the promise at length, with seeded bugs, other auditors and fuzzers, written to docs/results
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[audit]'
	$(BIN)/python -m dev.audits

soak: setup .venv/programs ## the longest tests; the store and its service killed, damaged and fuzzed at length, written to docs/results
	$(PYTEST) -m long tests dev/tests
	$(BIN)/python -m dev.soaks

tables: setup    ## the computed tables and pictures of the documentation
	$(BIN)/python -m dev.tables

paper: setup     ## the whole report on the paper, written to docs/paper/report
	$(BIN)/hushfade paper --output docs/paper/report

docs: setup      ## the documentation, warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

setup: .venv/ready

.venv/installed: pyproject.toml dev/scripts/make-venv
	PYTHON=$(PYTHON) sh dev/scripts/make-venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/ready: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$(PARTS)]'
	@touch $@

.venv/programs: .venv/installed dev/scripts/make-postgres dev/scripts/make-chromium dev/scripts/make-java
	sh dev/scripts/make-postgres
	sh dev/scripts/make-chromium
	sh dev/scripts/make-java
	@touch $@

clean:           ## remove what was built
	rm -rf .venv docs/_build docs/reference .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo-output paper-output dev/.environments
