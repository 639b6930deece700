# Every command of the project; `make` alone lists them. Nothing here needs more than sh, make and Python 3.11.
SHELL := /bin/sh
BIN := .venv/bin
PY := $(BIN)/python
export PYTHONPATH := $(CURDIR)/src

SEEDS ?= 2000
LIFE ?= --cluster
MINUTES ?= 5
CHAOS_MINUTES ?= 30
SECONDS ?= 180

.DEFAULT_GOAL := help
.PHONY: mutants help setup runtime run demo test test-spark-versions spark-kills test-quick lint fmt type build clean-build clean dist lock clients sim fuzz chaos \
	bench docs-check

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Everything the broker and its tests need, in .venv
	@tools/setup dev

runtime:
	@tools/setup runtime

run: runtime ## Start a broker with a live view: orders flowing, two groups reading; with Java, a pipeline on Spark behind it (SPARK=no)
	@if [ "$(SPARK)" != no ] && tools/preflight java; then exec $(BIN)/tape demo --pipeline --setup 'tools/setup spark'; fi; \
	exec $(BIN)/tape demo

demo: ## The same with the pipeline, for SECONDS=180, and a report with a picture at its end; brings PySpark, and Java by root
	@tools/setup spark && exec $(BIN)/tape demo --pipeline --seconds $(SECONDS)

test: setup ## Every check and every test, interpreted and compiled; ends with what was left out
	@$(PY) tools/test.py $(SUITES)

test-quick: setup ## Lint and unit tests: two minutes on two idle cores
	@$(PY) tools/test.py --quick

lint: setup ## Style, formatting, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --output-format concise .
	$(BIN)/lint-imports --no-logo

fmt: setup ## Put style and formatting right, where a tool can
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

type: setup ## mypy --strict over src
	$(BIN)/mypy

build: setup ## Compile the hot modules with mypyc, beside their sources
	@$(PY) tools/compiled.py build

clean-build: ## Remove the compiled modules
	@python3 tools/compiled.py clean

clean: clean-build ## Remove everything that was made here, .venv and .tools too
	rm -rf .venv .tools dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

dist: setup ## sdist, pure wheel and platform wheel, each smoke-tested in an empty environment without a compiler
	@$(PY) tools/dist.py

lock: ## Pin dependencies again (needs uv); `tools/lock --upgrade` takes newer ones
	@tools/lock

clients: setup ## Fetch other people's clients for tests/clients (Java, Go, Node where present)
	@sh tests/clients/setup.sh

sim: setup ## Whole clusters in simulation: SEEDS=2000 lives, or SEED=7 once more with its trace (LIFE= for single nodes)
	@$(PY) -m tapelog.sim $(LIFE) $(if $(SEED),--seed $(SEED) --trace,--seeds $(SEEDS) --jobs 2)

fuzz: setup ## Hostile bytes for MINUTES=5, new seeds each time
	TAPELOG_FUZZ_MINUTES=$(MINUTES) $(BIN)/pytest -q --timeout 0 tests/fuzz

chaos: build ## Real processes: kill -9 two hundred times, power cuts, and CHAOS_MINUTES=30 of a cluster whose nodes fail
	TAPELOG_CHAOS_KILLS=200 TAPELOG_CHAOS_MINUTES=$(CHAOS_MINUTES) $(BIN)/pytest -q --timeout 0 tests/chaos

mutants: setup ## Small random mistakes in the rooms that keep promises: are they noticed? (COUNT=200, an hour or two)
	$(PY) tools/mutants.py --count $(or $(COUNT),200)

test-spark-versions: setup ## tests/spark and a probe of features on every PySpark from 4.0 on (VERSIONS="4.0 4.3"), as a table
	@$(PY) tools/spark_versions.py $(VERSIONS)

spark-kills: setup ## The sink under kill -9 of tasks, executors, drivers and brokers: ROUNDS=30 ON=tapelog SINK=topic DELIVERY=exactlyOnce
	@tools/setup spark && $(PY) -m tests.spark.kills --rounds $(or $(ROUNDS),30) --on $(or $(ON),tapelog) \
		--sink $(or $(SINK),topic) --delivery $(or $(DELIVERY),exactlyOnce)

bench: build clients ## Side by side with Apache Kafka and others, in one run (BENCH="--quick …" passes options)
	$(PY) -m bench $(BENCH)

docs-check: setup ## Links, commands and paths named in the documents exist
	$(BIN)/pytest -q tests/tidy/test_documents.py
