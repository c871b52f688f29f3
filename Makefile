# The developer's whole interface; `make help` lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
REPO ?= .
# The first Python of at least 3.11 that is there; override with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
export UV_SYSTEM_CERTS ?= 1

# uv is quick; pip, which knows the mirrors that pip.conf names, stands behind it.
define install
	@$(BIN)/uv pip install --quiet --python $(BIN)/python $(1) >$(VENV)/install.log 2>&1 \
	|| { echo "uv could not install, trying pip: $$(grep -m 1 -i -E "error|failed" $(VENV)/install.log)" >&2; \
	     $(BIN)/python -m pip install --quiet --disable-pip-version-check $(1); }
endef

.PHONY: help env dev run test lint audit bench eval golden openapi tenancy lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

env: $(VENV)/.runtime ## create .venv with what the service needs (locked, hashed)

dev: $(VENV)/.dev ## add what tests and checks need

$(VENV)/.tools: requirements/tools.txt
	@test -n "$(PYTHON)" || { echo "Fourfold needs Python 3.11 or newer; name one with PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	|| { echo "$(PYTHON) has no ensurepip, so it cannot make $(VENV); on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV): once, about 500 MB" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/tools.txt
	@touch $@

$(VENV)/.runtime: $(VENV)/.tools requirements/runtime.txt pyproject.toml
	$(call install,--require-hashes -r requirements/runtime.txt)
	$(call install,--no-deps --no-build-isolation --editable .)
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	$(call install,--require-hashes -r requirements/dev.txt)
	@touch $@

run: env ## start the service, index REPO (default: this checkout) and ask it three questions; more options in ARGS
	@$(BIN)/fourfold serve --index "$(REPO)" $(ARGS)

test: dev ## run every test; pytest's options in ARGS
	@$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile $(ARGS)

lint: dev ## formatting, lint, types, import contracts, drift of the HTTP contract, Dockerfile
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/fourfold openapi --check openapi/openapi.json
	@$(BIN)/hadolint Dockerfile

audit: $(VENV)/.tools ## ask PyPI for known faults of the locked dependencies; needs its JSON interface, which few mirrors have
	@$(BIN)/uv tool run --from 'pip-audit>=2.9,<3' pip-audit --strict --disable-pip --require-hashes \
		-r requirements/runtime.txt -r requirements/dev.txt -r requirements/tools.txt

bench: dev ## measure relevance, latency and index beside other tools; writes benchmarks/results
	@$(BIN)/python -m benchmarks $(ARGS)

eval: dev ## judge relevance on the pinned repositories; writes benchmarks/results
	@$(BIN)/python -m benchmarks relevance report --name relevance $(ARGS)

golden: dev ## write the golden rankings of tests/relevance anew
	@$(BIN)/python -m tests.relevance.update

openapi: env ## write openapi/openapi.json from the code
	@$(BIN)/fourfold openapi > openapi/openapi.json.new && mv openapi/openapi.json.new openapi/openapi.json

tenancy: dev ## write docs/tenancy.md: who sees what, by asking a service with two tenants
	@WRITE_TENANCY=1 $(BIN)/pytest -q tests/integration/test_tenancy.py -k "matrix and required"

lock: $(VENV)/.tools ## resolve the dependencies anew and write requirements/*.txt
	@for part in "requirements/tools.in -o requirements/tools.txt" \
		"pyproject.toml --extra embedded -o requirements/runtime.txt" \
		"tools/clients/requirements.in -o tools/clients/requirements.txt" \
		"pyproject.toml --extra minilm --group dev -c requirements/runtime.txt -o requirements/dev.txt"; do \
		$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header $$part || exit 1; done

clean: ## remove .venv and caches; the database stays
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
