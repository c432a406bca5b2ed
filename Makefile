# One environment in .venv, made again only when pyproject.toml or constraints.txt changes.

VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=

# The first interpreter on the path that is new enough; `make PYTHON=/path/to/python3 ...` names another.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$name"; break; }; done)

# The folder is part of the key, for an environment that was copied along still points at the old folder.
KEY := $(shell { pwd; cat pyproject.toml constraints.txt; } | cksum | cut -d ' ' -f 1)
BASE := $(VENV)/.base-$(KEY)
DEV := $(VENV)/.dev-$(KEY)
# Scripts that pip wrote into an environment that was copied along point there too: they run by `python`.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint format wheel clean distclean
.NOTPARALLEL:

help: ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -e 's/:.*## /:/' | awk -F: '{ printf "make %-10s %s\n", $$1, $$2 }'

demo: $(BASE) ## install, then make a set of cues from photographs that scikit-image ships, in demo/
	$(BIN)/cuebench demo --out demo --force

venv: $(DEV) ## only install, with the tools for development

test: $(DEV) ## install with the tools for development, then run the tests (PYTEST_ARGS='-k shape')
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

lint: $(DEV) ## style, types and the contracts between the packages
	@failed=0; for tool in 'ruff check .' 'ruff format --check .' 'python -m mypy' 'python $(BIN)/lint-imports'; \
	do echo "$$tool"; $(BIN)/$$tool || failed=1; done; exit $$failed

format: $(DEV) ## put the code into the style that `make lint` checks
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(DEV) ## build the source archive and the wheel into dist/
	$(BIN)/python -m build --outdir dist .

clean: ## remove what was built and cached, but not the environment
	rm -rf demo dist .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -not -path './.cache/*' -prune -exec rm -rf {} +

distclean: clean ## remove the environments too
	rm -rf $(VENV) .cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "cuebench needs Python 3.11 or newer, and none is on the path;" \
		"name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cuebench needs Python 3.11" \
		"or newer, and $(PYTHON) is not; name another: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make an environment;" \
		"install its venv module (on Debian: apt-get install python3-venv)" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(BASE): | $(BIN)/python
	@echo "Installing cuebench into $(VENV) (a few minutes the first time)"
	@$(INSTALL) -e .
	@rm -f $(VENV)/.base-* $(VENV)/.dev-*
	@touch $@

$(DEV): | $(BIN)/python
	@echo "Installing cuebench and its tools for development into $(VENV) (a few minutes the first time)"
	@$(INSTALL) -e '.[dev]'
	@rm -f $(VENV)/.base-* $(VENV)/.dev-*
	@touch $(BASE) $@
