# Two commands do everything on a bare machine with Python 3.11: `make demo` and `make test`.
# `make check` is the fast inner loop. Each makes the environment it needs and keeps it up to date.
PYTHON ?= python3
VENV := .venv
DEMO_VENV := .venv-demo
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check

.PHONY: demo test check format lint types fast-tests clean

demo: $(DEMO_VENV)/installed
	$(DEMO_VENV)/bin/python -m corpus.demo

test: $(VENV)/installed lint types
	$(BIN)/python -m pytest -n 2 --dist loadscope

check: $(VENV)/installed lint types fast-tests

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m slotscheck -m terra_refactor --exclude-modules 'terra_refactor\.(__main__|runtime)'

types: $(VENV)/installed
	$(BIN)/mypy

fast-tests: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 -m "not slow and not tensorflow"

$(DEMO_VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(DEMO_VENV)
	$(DEMO_VENV)/bin/python -m pip install $(PIP_FLAGS) --editable .
	touch $@

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[test,lint]"
	touch $@

clean:
	rm -rf $(VENV) $(DEMO_VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
