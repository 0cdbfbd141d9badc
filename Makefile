# From a fresh clone: `make demo` and `make test`. Needs python3 (3.10 or newer, with venv and headers), make and a
# C++17 compiler; everything else is installed into .venv. Stamp files make the second run quick.

PYTHON ?= python3
VENV ?= .venv
WARNINGS_AS_ERRORS ?= OFF
PYTEST_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
BUILD_DIR := build/$(notdir $(VENV))
SOURCES := pyproject.toml CMakeLists.txt $(shell find cmake src -type f -not -name '*.pyc' -not -name '*.so')

.PHONY: demo test test-long sanitize test-asan check-arm test-all-pythons lint lint-rules lint-format lint-types lint-native format docs bench bench-check build clean

demo: $(VENV)/.package
	$(BIN)/poincare-memory demo -o demo
	$(BIN)/poincare-memory search demo.db "hamstring tightness" -k 3
	@echo "Open demo.html in a browser to look at this memory."

test: $(VENV)/.package $(VENV)/.test-tools
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-long: $(VENV)/.package $(VENV)/.test-tools sanitize
	$(BIN)/python -m pytest -m "long or not long" $(PYTEST_ARGS)

# The C++ tests of the native code under ThreadSanitizer, AddressSanitizer and UBSan.
sanitize: $(VENV)/.build-tools
	tools/sanitize $(abspath $(BIN))/python

# The Python suite over native code with AddressSanitizer and UBSan.
test-asan: $(VENV)/.package $(VENV)/.test-tools
	tools/test-asan $(abspath $(BIN))/python $(PYTEST_ARGS)

# The native code compiled for ARM, warnings being errors; not run.
check-arm: $(VENV)/.build-tools
	$(PIP) install --quiet ziglang
	tools/check-arm $(abspath $(BIN))/python

# Builds and tests on every supported interpreter found (python3.10 … on PATH, and pyenv's).
test-all-pythons:
	tools/test-all-pythons $(PYTEST_ARGS)

lint: lint-rules lint-format lint-types lint-native

lint-rules: $(VENV)/.lint-tools
	$(BIN)/ruff check .

lint-format: $(VENV)/.lint-tools
	$(BIN)/ruff format --check .

lint-types: $(VENV)/.package $(VENV)/.lint-tools
	$(BIN)/mypy

lint-native: $(VENV)/.lint-tools
	$(BIN)/clang-format --dry-run -Werror src/_core/*.hpp src/_core/*.cpp tests/native/cpp/*.hpp tests/native/cpp/*.cpp

format: $(VENV)/.lint-tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/_core/*.hpp src/_core/*.cpp tests/native/cpp/*.hpp tests/native/cpp/*.cpp

# The documentation, into build/site; its figures are drawn first.
docs: $(VENV)/.package $(VENV)/.docs-tools
	for figure in docs/figures/*.py; do $(BIN)/python $$figure || exit 1; done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.package $(VENV)/.bench-tools
	$(BIN)/asv machine --yes
	$(BIN)/asv run --python=same --quick --show-stderr

# That every suite is found and fits asv, and that one of them runs.
bench-check: $(VENV)/.package $(VENV)/.bench-tools
	$(BIN)/asv machine --yes
	$(BIN)/asv check --python=same
	$(BIN)/asv run --python=same --quick --dry-run --show-stderr --bench geometry | tee $(VENV)/bench.log
	! grep -q failed $(VENV)/bench.log

# The sdist, and the wheel made from it.
build: $(VENV)/.build-tools
	rm -rf dist
	$(PIP) install --quiet build
	$(BIN)/python -m build

clean:
	rm -rf build dist wheelhouse $(VENV) third_party/hnswlib .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f demo.db demo.html

$(VENV)/.build-tools: pyproject.toml tools/requirements.py tools/check_python.py
	$(PYTHON) tools/check_python.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	$(BIN)/python tools/requirements.py build > $(VENV)/build-requirements.txt
	$(PIP) install --quiet --upgrade cmake ninja -r $(VENV)/build-requirements.txt
	@touch $@

# What users get: a built wheel, installed. Without isolation and with a kept build folder, so that a change
# recompiles only what it touches. (An editable install would also shadow any other `poincare_memory` on the path,
# and with it the reference that the differential tests run.)
$(VENV)/.package: $(VENV)/.build-tools $(SOURCES)
	$(PIP) install --quiet --no-build-isolation --no-deps --force-reinstall . --config-settings build-dir=$(BUILD_DIR) \
		--config-settings cmake.define.POINCARE_WARNINGS_AS_ERRORS=$(WARNINGS_AS_ERRORS)
	@touch $@

$(VENV)/.%-tools: $(VENV)/.build-tools
	$(BIN)/python tools/requirements.py $* > $(VENV)/$*-requirements.txt
	$(PIP) install --quiet -r $(VENV)/$*-requirements.txt
	@touch $@
