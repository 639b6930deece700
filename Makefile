# Every command of the project. `make help` lists them.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYTHONPATH := src

.DEFAULT_GOAL := help
.PHONY: help lint type test-quick

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

lint: ## Style, formatting, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

type: ## mypy --strict over src
	$(BIN)/mypy

test-quick: ## Unit tests, within a minute
	$(BIN)/pytest -q -n 2 -m "not slow" tests/unit
