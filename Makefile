# Two commands do everything on a bare machine with Python 3.11: `make demo` and `make test`.
# `make check` is the fast inner loop. Each makes the environment it needs and keeps it up to date.
PYTHON ?= python3
# Test processes at a time: one more than the two processors that the times are for, since tests wait for servers, limits and other
# processes. Each may hold TensorFlow; allow 2 GB of memory for each.
WORKERS ?= 3
VENV := .venv
DEMO_VENV := .venv-demo
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
# Modules in the order of tests/conftest.py, the longest first; what took longest is listed.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder --durations 15 --durations-min 5
export TF_CPP_MIN_LOG_LEVEL ?= 2
# `make check`: rules, decisions, the rooms one by one, and one conversation with each program; `make test` has the other properties,
# programs and packages.
CHECKED := tests/architecture tests/cases tests/golden tests/proof tests/unit \
	tests/property/test_dim.py tests/property/test_lattice.py tests/property/test_shape.py \
	tests/e2e/cli/test_commands.py tests/e2e/lsp/test_server.py
# Some containers set it, and then each worker compiles each test again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all check format lint types all-tests fast-tests explore answers generated coexec evaluation docs shim-versions extension extension-package extension-e2e release-check clean

help:
	@echo "make demo        analyse the bundled example and show the diff; no TensorFlow needed"
	@echo "make test        lint, types and every test; TensorFlow 2.21 runs where it has no kept answer"
	@echo "make test-all    the same, and TensorFlow runs everything again and has to agree with its kept answers"
	@echo "make check       lint, types and the fast tests of each room, without TensorFlow: two minutes on two processors"
	@echo "make explore     the property tests with examples that no run has seen"
	@echo "make answers     ask TensorFlow the questions without a kept answer, and keep the answers (tests/answers)"
	@echo "make format      format the code and make the fixes that ruff is sure of"
	@echo "make generated   rewrite the generated pages of docs/"
	@echo "make evaluation  run the programs and packages of corpus/ before and after, and rewrite the pages of results"
	@echo "make docs        build the documentation's site into build/site; a broken link is an error"
	@echo "make coexec      time the ten programs of the shim, a quarter of an hour, and write the table into docs/benchmarks.md"
	@echo "make shim-versions  the tests of the shim on TensorFlow 2.16 to 2.20 and with tf_keras; an environment of two gigabytes for each"
	@echo "make extension   check the VS Code extension: types, tests, bundle (Node 20)"
	@echo "make extension-package  the same, and the .vsix with a wheel of the server"
	@echo "make extension-e2e  drive the packaged extension in a real workbench (Debian as root, or with its packages there)"
	@echo "make release-check  build wheel, sdist and .vsix, install them into empty environments, and try what is installed"
	@echo "make clean       remove the environments and the tools' caches"

demo: $(DEMO_VENV)/installed
	$(DEMO_VENV)/bin/python -m corpus.demo

# The type checker is one process of up to 35 seconds: beside the tests, it uses what they leave of the processors.
test: $(VENV)/installed lint
	$(MAKE) --no-print-directory --jobs 2 types all-tests

all-tests: $(VENV)/installed
	$(PYTEST)

test-all: export TERRA_REFACTOR_ANSWERS = fresh
test-all: test

check: $(VENV)/installed lint
	$(MAKE) --no-print-directory --jobs 2 types fast-tests

format: $(VENV)/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m corpus.prose

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m corpus.prose --check
	$(BIN)/python -m slotscheck -m terra_refactor --exclude-modules 'terra_refactor\.(.*__main__|runtime)'

types: $(VENV)/installed
	$(BIN)/mypy

fast-tests: $(VENV)/installed
	$(PYTEST) -m "not slow and not tensorflow" $(CHECKED)

explore: $(VENV)/installed
	TERRA_REFACTOR_ANSWERS=fresh TERRA_REFACTOR_HYPOTHESIS=explore $(PYTEST) tests/property tests/conformance tests/runtime/test_generated_programs.py

answers: $(VENV)/installed
	WORKERS=$(WORKERS) $(BIN)/python tools/keep_answers.py

generated: $(VENV)/installed
	$(BIN)/python tools/document_rules.py
	$(BIN)/python tools/document_configuration.py
	$(BIN)/python -m corpus index
	$(BIN)/python -m corpus report

coexec: $(VENV)/installed
	$(BIN)/python benchmarks/coexec.py --minutes 14 --csv docs/coexec.csv --plot docs/coexec.svg --document docs/benchmarks.md

shim-versions: $(VENV)/installed
	$(BIN)/python tools/shim_versions.py

evaluation: $(VENV)/installed
	$(BIN)/python -m corpus all

docs: $(VENV)/installed
	$(BIN)/python -m mkdocs build --strict --quiet

extension:
	cd vscode-extension && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run check

extension-package: extension $(VENV)/installed
	cd vscode-extension && npm run package

extension-e2e: extension-package
	bash vscode-extension/e2e/install-code-server.sh $(CURDIR)/.code-server
	cd vscode-extension && npm run e2e

$(DEMO_VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(DEMO_VENV)
	$(DEMO_VENV)/bin/python -m pip install $(PIP_FLAGS) --editable .
	touch $@

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[test,lint,docs]"
	touch $@

release-check: export TERRA_REFACTOR_ANSWERS = fresh
release-check: $(VENV)/installed
	$(BIN)/python -m pytest -n 0 tests/e2e/test_release.py

clean:
	rm -rf $(VENV) $(DEMO_VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
