# Two commands on a fresh machine: `make demo` and `make test`.  Both set up .venv themselves; the
# second also brings PostgreSQL and Chromium, from Debian and as root only, for its tests.

PYTHON ?= python3
BIN := .venv/bin
PARTS := test,lint,docs

.PHONY: help demo test check lint bench audit soak tables paper docs setup clean

help:            ## what can be made
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 14

demo: .venv/installed ## the main job on real data: late departures of a year, privately, every hour
	$(BIN)/hushfade demo

test: setup .venv/programs lint docs ## lint, docs, all tests and doctests but the longest
	$(BIN)/pytest -n 2 --dist loadfile src README.md docs
	HUSHFADE_WHOLE=1 $(BIN)/pytest -m "not long" tests/connect
	$(BIN)/pytest -n 2 -m "not long" --ignore tests/connect tests dev/tests

check: setup lint ## the quick part, for daily work
	$(BIN)/pytest -n 2 --dist loadfile src README.md docs
	$(BIN)/pytest -n 2 -m "not slow and not long" --ignore tests/connect tests dev/tests

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
	HUSHFADE_WHOLE=1 $(BIN)/pytest -m long tests/connect
	$(BIN)/pytest -n 2 -m long --ignore tests/connect tests dev/tests
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
	rm -rf .venv docs/_build .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo-output paper-output dev/.environments
