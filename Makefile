# SPDX-License-Identifier: Apache-2.0
# Two commands for a user: make demo, make test. Each does its own set-up on a fresh Debian 12 (root or sudo) and says what
# it installs; a second run finds it done.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
CONSORT := $(VENV)/bin/consort
# How long the demo's four configurations run together: 4 x 100,000 releases of 50 us = 20 s.
DEMO_ITERATIONS ?= 100000

.PHONY: help setup packages demo demo-boards test test-slow bench soundness lint format size clean lock

help:
	@echo 'make demo       run the servo application on this machine and report it'
	@echo 'make demo-boards  unlike processors, emulated, sharing memory with this machine: one table, one report'
	@echo 'make test       all tests of up to a few minutes'
	@echo 'make test-slow  the long ones'
	@echo 'make bench      benchmarks against floors and peers'
	@echo 'make soundness  ten million task sets against the bounds of three-phase tasks (an hour)'
	@echo 'make lint       ruff, mypy, clang-format, clang-tidy, Verible'
	@echo 'make size       code bytes of the target library on each core'
	@echo 'make setup      only the set-up: leaves the command at .venv/bin/consort'

packages:
	@tools/install-packages.sh runtime

setup: packages
	@tools/setup-python.sh

demo: setup
	@tools/demo.sh $(DEMO_ITERATIONS)

demo-boards: setup
	@tools/install-packages.sh boards
	$(CONSORT) board demo

test: setup
	@tools/install-packages.sh test
	tools/test.sh

test-slow: setup
	@tools/install-packages.sh test
	tools/test.sh slow

bench: setup
	@tools/install-packages.sh bench
	status=0
	for name in icc loopback; do $(CONSORT) bench $$name || status=$$?; done
	exit $$status

soundness: setup
	$(CONSORT) bench soundness --iterations 10000000

lint: setup
	@tools/install-packages.sh lint
	tools/lint.sh

format: setup
	@tools/install-packages.sh lint
	$(VENV)/bin/ruff format python tests examples
	git ls-files '*.hpp' '*.cpp' | grep -v '/generated/' | xargs clang-format -i

size: setup
	@tools/install-packages.sh test
	$(PY) tests/cross/size.py

# Writes the exact versions in use into requirements.lock, after a deliberate upgrade in .venv.
lock:
	$(VENV)/bin/pip freeze --exclude consort-rt --exclude pip --exclude setuptools > requirements.lock

clean:
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache
