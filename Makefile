# SPDX-License-Identifier: Apache-2.0
# Two commands for a user: make demo, make test. Each does its own set-up on a fresh Debian 12 (root or sudo) and says what
# it installs; a second run finds it done.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
# Where it is set, as in some containers, each command would compile the package anew: seconds, of ten commands.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
CONSORT := $(VENV)/bin/consort
# How long each configuration of the demo runs [s].
DEMO_SECONDS ?= 2
# How long each fuzz target runs [s]; FUZZ_TARGETS chooses some of them.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
# How many random systems the campaign compares.
SYSTEMS ?= 100000

.PHONY: help setup packages python3 demo demo-boards demo-remote check test test-slow bench soundness campaign fuzz lint format size clean lock sbom docs

help:
	@echo 'make demo       an electric drive: in exact time, and its control loop on this machine'
	@echo 'make demo-boards  unlike processors, emulated, sharing memory with this machine: one table, one report'
	@echo 'make demo-remote  a sort with half of its memory elsewhere: its result against one that has all of it here'
	@echo 'make check      what to run before each commit: lint, tests without heavy families (3 minutes)'
	@echo 'make test       what CI runs: all that is quick, a sample of what is heavy (6 to 30 minutes)'
	@echo 'make test-slow  every test, with every compiler and sanitizer, and those of real time under load (about 35 hours, in stages)'
	@echo 'make bench      benchmarks against floors and peers'
	@echo 'make soundness  ten million task sets against the bounds of three-phase tasks (an hour)'
	@echo 'make campaign   the executive in virtual time against the simulator on SYSTEMS ($(SYSTEMS)) random systems'
	@echo 'make fuzz       each fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS)); records it in tests/fuzz/record.csv'
	@echo 'make lint       ruff, mypy, clang-format, clang-tidy, Verible'
	@echo 'make sbom       what Consort is made of, with licences and hashes (CycloneDX)'
	@echo 'make docs       the documentation as a site, build/site/html; a link that leads nowhere ends it'
	@echo 'make size       code bytes of the target library on each core'
	@echo 'make setup      only the set-up: leaves the command at .venv/bin/consort'

packages:
	@tools/install-packages.sh runtime

# The runner of the tests sets up all else.
python3:
	@command -v python3 > /dev/null || tools/install-packages.sh runtime

setup: packages
	@tools/setup-python.sh

# Most of what both acts compile needs no engine, and no package: it is compiled beside them.
demo: packages
	@tools/setup-python.sh env PYTHONPATH=python python3 tools/demo.py sources
	@$(PY) tools/demo.py $(DEMO_SECONDS)

demo-boards: setup
	@tools/install-packages.sh boards
	$(CONSORT) board demo

demo-remote: setup
	@tools/install-packages.sh remote
	@remote-memory/tools/demo.sh

check: python3
	@python3 tools/run_tests.py check

test: python3
	@python3 tools/run_tests.py test

test-slow: python3
	@python3 tools/run_tests.py slow

bench: setup
	@tools/install-packages.sh bench
	status=0
	for name in icc loopback; do $(CONSORT) bench $$name || status=$$?; done
	exit $$status

campaign:
	tools/campaign.sh $(SYSTEMS)

soundness: setup
	$(CONSORT) bench soundness --iterations 10000000

fuzz: setup
	@tools/install-packages.sh fuzz
	tools/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_TARGETS)

lint: setup
	@tools/install-packages.sh lint
	tools/lint.sh

format: setup
	@tools/install-packages.sh lint
	$(VENV)/bin/ruff format python bench tests examples remote-memory/{bench,python,tests}
	git ls-files '*.hpp' '*.cpp' | grep -v '/generated/' | xargs clang-format -i

size: setup
	@tools/install-packages.sh test
	$(PY) tests/cross/size.py

# Writes the exact versions in use, with their hashes, into the locks, after a deliberate upgrade in .venv.
lock:
	$(PY) tools/lock.py

# The parts and needs of Consort, with versions, hashes and licences, as CycloneDX.
sbom: setup
	$(PY) tools/sbom.py build/consort.cdx.json

SITE := build/site-venv
$(SITE)/ready: tools/site/requirements.lock | python3
	python3 -m venv --clear $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r $<
	touch $@

docs: $(SITE)/ready
	@$(SITE)/bin/python tools/site/pages.py

clean:
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache
