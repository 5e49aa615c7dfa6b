# Needs Python 3.11 or later, git and make; everything else is installed into .venv.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: demo test test-consumers lint bench accuracy clean

# The first Python that is new enough and can make environments; consumers are built for 3.11 first.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python3.14; do \
	if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo "$$python"; exit; fi; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# What an installation has to be made anew for: the code itself is used where it stands.
SOURCES := pyproject.toml hatch_build.py planc/version.py planc/syntax/build_tables.py grammar/plan.lark
SLURM := slurmctld slurmd slurm-client munge

demo: $(VENV)/installed
	@echo '$$ planc lint examples/finetune-8b.plan'
	@$(BIN)/planc lint examples/finetune-8b.plan
	@echo
	@echo '$$ planc compile examples/finetune-8b.plan -o build/demo'
	@$(BIN)/planc compile examples/finetune-8b.plan -o build/demo
	@for file in build/demo/finetune/*; do echo; echo "==> $$file"; cat "$$file"; done

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m 'not consumer' -n auto --dist worksteal

# What asks a consumer, and whole folders with snapshots: one that nothing uses any more fails only in a bare run.
ASKING := tests/consumers tests/mutation tests/targets tests/wrong
test-consumers: $(VENV)/installed-consumers
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null && ! command -v slurmctld >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(SLURM) >/dev/null; fi
	$(BIN)/python -m pytest $(ASKING)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check
	$(BIN)/mypy

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.lint
	$(BIN)/python -m benchmarks.bulk

# Needs the measurements in ../shared/facts/tables.
accuracy: $(VENV)/installed-dev
	$(BIN)/python -m tests.accuracy

clean:
	rm -rf $(VENV) build dist editors/vscode/{dist,node_modules} planc/syntax/_tables.py

$(VENV)/bin/python:
	@[[ -n "$(PYTHON)" ]] || { echo 'no Python 3.11 or later with its venv module was found; set PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(SOURCES) | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[dev]'
	touch $@

# torch by itself first: asked for with the others, pip may take a build that is ten times larger.
$(VENV)/installed-consumers: $(VENV)/installed-dev
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[dev,consumers]'
	touch $@
