# Everything that people and CI call. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help
help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

# --- set-up -----------------------------------------------------------------------------------------------------------
.venv/.ready: requirements/all.txt pyproject.toml producers/sdk/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "trainwire needs Python 3.11 or later; say PYTHON=/path/of/it"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing locked requirements …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/all.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . -e producers/sdk
	@touch $@

gateway/page/static/.ready: $(shell find gateway/page -type f -not -path '*/node_modules/*' -not -path '*/static/*' -not -name '*.py' 2>/dev/null) | .venv/.ready
	@gateway/page/build.sh
	@touch $@

.PHONY: setup
setup: .venv/.ready gateway/page/static/.ready ## install what is locked, build the page

# --- the main job -----------------------------------------------------------------------------------------------------
.PHONY: demo
demo: setup ## two real training tasks, followed live; CHECK=1 compares all with the truth, KILL=1 kills programs meanwhile
	@$(BIN)/python -m deploy.demo $(if $(filter 1,$(CHECK)),--check) $(if $(filter 1,$(KILL)),--kill)

# --- tests ------------------------------------------------------------------------------------------------------------
.PHONY: test
test: setup ## set up, then all tests, on a real broker, the real engine and a real browser
	@tests/browser/install.sh
	@$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder --ignore tests/kubernetes --ignore tests/containers

.PHONY: test-unit
test-unit: .venv/.ready ## the tests that need no service
	@$(BIN)/pytest -q tests/unit

SEED ?= 1
MINUTES ?= 15
RATE ?= 500
.PHONY: chaos
chaos: .venv/.ready ## seeded faults over the whole stack (SEED=1 MINUTES=15 RATE=500 lines/s), then every view against the journal
	@$(BIN)/python -m tests.chaos --seed $(SEED) --minutes $(MINUTES) --rate $(RATE)

.PHONY: rules
rules: .venv/.ready ## take each rule of exactly-once out, in a copy of the tree, and see its test fail
	@$(BIN)/python -m tests.rules

# The engine of a machine without one is started here and ended here; images that no registry gives are made locally.
DOCKER_STATE ?= $(HOME)/.cache/trainwire/docker
.PHONY: test-containers
test-containers: setup ## the contracts of broker, store, schema and views, on containers, and the images of the programs
	@set -e; began=0; docker version >/dev/null 2>&1 || began=1; \
	export $$(deploy/docker/engine.sh $(DOCKER_STATE)) TESTCONTAINERS_RYUK_DISABLED=true TRAINWIRE_TEST_CONTAINERS=1; \
	[ $$began = 0 ] || trap 'deploy/docker/engine.sh $(DOCKER_STATE) end' EXIT; \
	deploy/docker/base.sh; \
	deploy/docker/standin/build.sh $(HOME)/.cache/trainwire; \
	deploy/docker/images.sh; \
	$(BIN)/pytest -q tests/contract/test_broker.py tests/contract/test_clickhouse_http.py tests/contract/test_schema.py tests/contract/test_views.py tests/containers

.PHONY: images
images: setup ## the images of shipper, worker, gateway and command line, on the Docker Engine at hand
	@deploy/docker/images.sh

.PHONY: test-kubernetes
test-kubernetes: setup ## viewers as pods on a real node; the first time it builds one, 15 to 30 minutes
	@tests/browser/install.sh
	@deploy/kubernetes/node/run.sh $(BIN)/pytest -q -n 3 --dist loadfile tests/kubernetes

.PHONY: grafana-check
grafana-check: .venv/.ready ## every query of every panel, variable, annotation and alert on the engine; drift of the dashboards
	@$(BIN)/trainwirectl dashboards check
	@$(BIN)/pytest -q tests/unit/grafana tests/contract/test_grafana_*.py tests/contract/test_sql_page.py

.PHONY: lint
lint: .venv/.ready ## style, types, direction of imports
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo >/tmp/trainwire-imports.$$$$ || { cat /tmp/trainwire-imports.$$$$; exit 1; }; rm -f /tmp/trainwire-imports.$$$$

.PHONY: format
format: .venv/.ready ## put the code into shape
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

# --- upkeep -----------------------------------------------------------------------------------------------------------
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-package trainwire --no-header
.PHONY: lock
lock: .venv/.ready ## write requirements/*.txt from pyproject.toml: versions and hashes, no addresses
	@echo 'uv==0.13.9' | $(LOCK) - -o requirements/uv.txt
	@$(LOCK) pyproject.toml --all-extras $(GROUPS:%=--group %) -o requirements/all.txt
	@for program in shipper worker gateway cli local; do $(LOCK) pyproject.toml --extra $$program -c requirements/all.txt -o requirements/$$program.txt; done
GROUPS := demo test grafana lint build

.PHONY: docs
docs: .venv/.ready ## write the generated pages of docs/
	@$(BIN)/trainwirectl settings > docs/settings.md
	@$(BIN)/trainwirectl metrics > docs/metrics.md
	@$(BIN)/trainwirectl migrate reference > docs/sql.md

.PHONY: clean
clean: ## stop the local stack and remove what was built
	@-$(BIN)/trainwirectl down
	@rm -rf .venv .local gateway/page/static gateway/page/node_modules
