# `make demo` shows the product, `make test` proves it, `make test-deep` searches further, `make check` takes a minute.
# Each sets up all it needs in .venv.

PYTHON ?= python3
BIN := .venv/bin
PORT ?= 8000
ROUNDS ?= 9
RUNS ?= 10000
# More than cores: many tests wait for sockets, browsers and other processes.
WORKERS ?= 4
# Tests with a target of their own.
ELSEWHERE := $(addprefix --ignore=tests/,docs contracts/frontends contracts/frameworks contracts/packaging)
ARGS ?=
DEEPER = $(if $(filter 0,$(DEPTH)),,-m '' -o timeout=900)
# 0 is the short form; 1, in CI, adds what searches further; 4 has four times the random examples, and 5 others than before.
DEPTH ?= 0

# Workers and the programs that tests start share compiled code, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo check test test-deep test-frontends test-docs docs interop package vendor lint format audit mutants bench soak results chromium nginx redis clean

demo: .venv/.demo
	$(BIN)/langgraph-agui demo --port $(PORT) --ask "What is the weather in Rome and Paris?" $(ARGS)

# While you edit: the checks of the code, and the tests that need no process and no socket.
check: lint
	$(BIN)/python -m pytest -n 2 -p no:tests.kit.expect.agreement tests/rooms $(ARGS)

test: .venv/.dev chromium redis
	$(BIN)/python -c 'from tests.kit.processes.node_client import install; install()'
	TEST_DEPTH=$(DEPTH) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ELSEWHERE) $(DEEPER) $(ARGS)

# All of `make test` and what it leaves out, with more examples, and thousands of random conversations.
test-deep: DEPTH = 4
test-deep: test

# Against other frameworks' servers, each with its own packages in .venv-interop.
interop: .venv/.dev
	$(BIN)/python -m tests.contracts.frameworks.environments
	$(BIN)/python -m pytest -n 0 tests/contracts/frameworks $(ARGS)

# The pages of examples/frontends in Chromium, each front end with its own packages from npm.
test-frontends: .venv/.dev chromium
	$(BIN)/python -m tests.contracts.frontends.building
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/contracts/frontends $(ARGS)

# The site, in `site`; a warning is an error. Links into the repository and the places that others link to are tested.
docs: .venv/.dev
	$(BIN)/python -m tests.docs.build
	$(BIN)/python -m tests.docs

# Every code block of the README and the docs runs; some pages as a reader would, from an empty folder, in Chromium.
test-docs: .venv/.dev chromium nginx redis
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/docs $(ARGS)

# What is uploaded: its files, each extra alone, then the lowest and the newest dependencies, on every Python that is here.
package: .venv/.dev redis
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/contracts/packaging --ignore=tests/contracts/packaging/test_versions.py $(ARGS)
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/contracts/packaging/test_versions.py $(ARGS)

# What the page takes from npm: the reference client, in one file, and the licences.
vendor: .venv/.dev
	$(BIN)/python -m tests.behaviour.playground.vendored

# The pictures that the README and the documentation show.
pictures: .venv/.dev chromium
	$(BIN)/python -m tests.docs.screenshot
	mkdir -p docs/pictures
	PICTURES=docs/pictures $(BIN)/python -m pytest -n 0 -m '' tests/behaviour/playground/test_tour.py -k a_scene $(ARGS)
	cd docs/pictures && for name in *; do grep -rq --include=*.md "pictures/$$name" .. || rm "$$name"; done

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Known vulnerabilities of what is in .venv. Asks pypi.org, so CI, which is offline, has no part of it. `--strict`: a
# package that is not found there is a failure, where pip-audit would else report that nothing is wrong.
audit: .venv/.dev
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install -q pip-audit
	$(BIN)/python -m pip freeze --exclude-editable > .venv-audit/installed.txt
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip -r .venv-audit/installed.txt $(ARGS)

# 400 changes of the package, drawn with a fixed seed: tests must notice them.
mutants: .venv/.dev chromium redis
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip install -q cosmic-ray
	$(BIN)/python -m pip install -q coverage
	.venv-mutants/bin/python tests/mutants.py draw 400 20261127
	$(BIN)/python tests/mutants.py cover
	$(BIN)/python tests/mutants.py run

bench: .venv/.dev redis
	$(BIN)/python -m benchmarks --rounds $(ROUNDS) $(ARGS)

# Ten thousand runs with clients of every kind: memory, tasks, descriptors, locks are flat, or it fails. Ten minutes.
soak: .venv/.dev
	$(BIN)/python -m benchmarks.soak --runs $(RUNS) $(ARGS)

results: .venv/.dev
	$(BIN)/python -m tests.behaviour.reasoning.table
	$(BIN)/python -m tests.contracts.migrated.table
	$(BIN)/python -m tests.faults.table

# The page is tested in a real browser: the one that is installed, or Debian's.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		{ sudo=$$(command -v sudo || true); $$sudo apt-get update -q && $$sudo apt-get install -y -q chromium; }

nginx:
	@PATH="$$PATH:/usr/sbin"; { command -v nginx && command -v openssl; } >/dev/null || \
		{ sudo=$$(command -v sudo || true); $$sudo apt-get update -q && $$sudo apt-get install -y -q nginx-light openssl; }

redis:
	@command -v redis-server >/dev/null || \
		{ sudo=$$(command -v sudo || true); $$sudo apt-get update -q && $$sudo apt-get install -y -q redis-server; }

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip

.venv/.demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[cli]'
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@ .venv/.demo

clean:
	rm -rf .venv .venv-interop .venv-audit .venv-mutants .mutants site .zensical.toml .venv-release dist tests/kit/processes/node/node_modules vendor/node_modules examples/frontends/*/node_modules examples/frontends/*/dist tests/contracts/frontends/new_client .mypy_cache .ruff_cache .pytest_cache .hypothesis
