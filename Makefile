# Every target sets up .venv by itself, once, and uses it again afterwards.
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow lab lint bench pictures lock clean

# The first Python >= 3.11 that answers; `make PYTHON=/path/to/python3.13 …` chooses another.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
UV ?= $(shell command -v uv 2>/dev/null)

PY := .venv/bin/python
SETUP_LOG := .setup.log
PYTEST = $(PY) -m pytest -q -rs -n $(TEST_JOBS) --dist loadfile -p no:benchmark
TEST_ARGS ?=
# Processes for the tests; 0 keeps them in one, as a debugger needs it.
TEST_JOBS ?= 2
LAB_ARGS ?=

# Compiled imports make every later process start three times faster.
unexport PYTHONDONTWRITEBYTECODE
# A back end set from outside would leave the notebooks without figures.
unexport MPLBACKEND
# A value from an active environment elsewhere would mislead uv.
unexport VIRTUAL_ENV

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.ready ## the shipped sessions, 4 strategies x 3 windows: results/demo/report.html
	$(PY) -m compactlab run --sessions datasets/*.jsonl.gz --strategies raw,escalating,compressor,layered \
	  --windows 32000,64000,128000 --quality --out results/demo --force --report

test: .venv/.ready ## all tests but the slow ones and the benchmarks (TEST_ARGS="-k name")
	$(PYTEST) $(TEST_ARGS)

test-slow: .venv/.ready ## the tests that need minutes
	$(PYTEST) -m slow $(TEST_ARGS) || { code=$$?; test $$code -eq 5 && echo "There are no slow tests."; }

bench: .venv/.ready ## the speed gates
	$(PY) -m pytest -q -rs -m "slow or not slow" tests/benchmarks $(TEST_ARGS)

lint: .venv/.ready ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m mypy --strict compactlab

pictures: .venv/.ready ## the README's pictures, tables of faults and (with a corpus) comparison, made again
	$(PY) .ci/pictures.py
	$(PY) .ci/faults.py --write README.md
	@test -n "$(COMPACTLAB_CORPUS)" || echo "The comparison stays as it is: COMPACTLAB_CORPUS names no folder."
	@test -z "$(COMPACTLAB_CORPUS)" || $(PY) .ci/comparison.py "$(COMPACTLAB_CORPUS)" --write README.md

lab: .venv/.ready ## JupyterLab on the notebooks (LAB_ARGS="--no-browser")
	$(PY) -m jupyterlab --LabApp.default_url=/lab/tree/notebooks $(LAB_ARGS)

lock: ## make requirements.lock again from pyproject.toml, at the newest versions (needs uv)
	@test -n "$(UV)" || { echo "make lock needs uv: pip install uv"; exit 1; }
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	mkdir "$$scratch/compactlab"; cp pyproject.toml README.md LICENSE "$$scratch"; \
	cp compactlab/__init__.py "$$scratch/compactlab"; cd "$$scratch"; \
	"$(UV)" lock --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"; \
	"$(UV)" export --quiet --format requirements-txt --all-groups --all-extras \
	  --no-emit-project --no-header --no-annotate --output-file requirements.lock; \
	if grep -n '://' requirements.lock; then echo "The lock names a host: not written."; exit 1; fi; \
	cp requirements.lock "$(CURDIR)/requirements.lock"
	@echo "requirements.lock written; the next target installs it."

clean: ## remove .venv and the caches; results stay
	rm -rf .venv $(SETUP_LOG) .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks build dist
	find compactlab tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "compactlab needs Python 3.11 or newer; '$(or $(PYTHON),python3)' is not. Try: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv, once ($(if $(UV),with uv: seconds to a minute,with pip: two to three minutes)) ..."
	@if $(if $(UV),$(install_with_uv),$(install_with_pip)) >$(SETUP_LOG) 2>&1; then \
	  rm -f $(SETUP_LOG); touch $@; \
	else tail -n 40 $(SETUP_LOG); echo "Set-up failed: the whole output is in $(SETUP_LOG)."; exit 1; fi

# An environment that is there is brought up to date rather than made again.
define install_with_uv
{ { test -x $(PY) || "$(UV)" venv --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv; } \
  && "$(UV)" pip sync --python $(PY) --require-hashes requirements.lock \
  && "$(UV)" pip install --python $(PY) --no-deps --no-build-isolation --editable .; }
endef
define install_with_pip
{ { $(PY) -m pip --version || { rm -rf .venv && $(PYTHON) -m venv .venv; }; } \
  && $(PY) -m pip install --require-hashes -r requirements.lock \
  && $(PY) -m pip install --no-deps --no-build-isolation --editable .; }
endef
