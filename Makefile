# Every target runs in the virtual environment .venv, made on first use; BIN=folder uses another one that is ready.
PYTHON ?= python3
VENV := .venv
BIN ?= $(VENV)/bin
INSTALLED := $(if $(filter $(VENV)/bin,$(BIN)),$(VENV)/.installed)
READY := $(if $(filter $(VENV)/bin,$(BIN)),$(VENV)/.ready)
SOURCES := toolchain tests benchmarks
JOBS ?= 2
TYPES := .mypy_cache/path
BENCHED := benchmarks/matmul.kpy benchmarks/gemm.kpy benchmarks/transformer.kpy

.DEFAULT_GOAL := help
.PHONY: help setup native wheel run archive check quick format format-python format-check lint types test test-all test-device wide devices kernels migrate-proof ndarray same-code fuzz fuzz-near fuzz-format fuzz-lsp grammar checked differential bench bench-gpu scaling ulp docs library-pages release vsix clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

setup: $(READY) ## make .venv with ktc (editable) and what the tests need

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e .
	$(VENV)/bin/python -m ktc.syntax.ahead stdlib toolchain/prebuilt
	$(VENV)/bin/python -m compileall -q toolchain # where PYTHONDONTWRITEBYTECODE is set, nothing else would
	@touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

native: $(READY) ## compile ktc's own modules: two minutes, once; builds then take three to four fifths of the time
	-$(BIN)/python -m ktc.native

wheel: $(READY) ## make a wheel for this Python and machine in dist/, with ktc's own modules and its library compiled
	rm -rf build/wheel && mkdir -p build/wheel dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/wheel .
	$(BIN)/python packaging/compile_wheel.py build/wheel/*.whl dist

run: $(INSTALLED) ## build examples/vector_addition.kpy for what this machine has, and run it
	@mkdir -p build
	$(BIN)/ktc build examples/vector_addition.kpy -o build/vector_addition
	./build/vector_addition

check: format-check lint types ## format, lint and types, changing nothing

archive: $(READY) ## list again what the archive of the library may have (stdlib/archive.txt)
	$(BIN)/python -m ktc.driver.archive_list

format: format-python ## format all sources, sort imports
	$(BIN)/ktc format .

format-python: $(READY)
	$(BIN)/ruff check --quiet --fix $(SOURCES) || true
	$(BIN)/ruff format $(SOURCES)

format-check: $(READY)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ktc format --check .

lint: $(READY)
	$(BIN)/ruff check $(SOURCES)

# The sources are in toolchain/ and the package is called ktc: mypy is shown them under that name.
types: $(READY) ## check the types strictly
	@mkdir -p $(TYPES) && ln -sfn ../../toolchain $(TYPES)/ktc
	MYPYPATH=$(TYPES) $(BIN)/mypy --config-file pyproject.toml -p ktc

quick: format-python lint ## format, lint, types, and the tests that reach what differs from main, in 30 s (BASE=)
	$(BIN)/python tests/changed.py $(or $(BASE),main) -j $(JOBS)

# One process more than JOBS: now and then a test waits for its children.
test: $(READY) ## run the tests that need no GPU, in 6 minutes on two cores
	$(BIN)/python -m pytest -n $$(($(JOBS) + 1)) --dist worksteal -m "not thorough and not device and not wide"

test-all: $(READY) ## run what .ci/run adds to them as well (TESTS= names files, LESS= gives options of pytest)
	$(BIN)/python -m pytest -n $$(($(JOBS) + 1)) --dist worksteal -m "not device and not wide" $(LESS) $(TESTS)

test-device: $(READY) ## run the tests that need a GPU
	$(BIN)/python -m pytest -m device

wide: $(READY) ## run the tests that take minutes and that `make test-all` leaves out: all programs, other machines
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "wide and not device"

devices: $(READY) ## run every program with kernels through OpenCL and on the stand-ins for AMD's runtime and Apple's
	$(BIN)/python -m pytest -n $(JOBS) -m "not device" tests/test_devices.py tests/test_hip.py tests/test_metal.py

kernels: $(READY) ## compile and assemble the kernels of all programs for six GPUs (FOLDER=)
	$(BIN)/python tests/kernels.py $(or $(FOLDER),tests/gpu tests/run benchmarks examples)

migrate-proof: $(READY) ## rewrite all programs in edition 2026: they build and print the same (WORDS= names)
	$(BIN)/python tests/migrate_proof.py -j $(JOBS) $(WORDS)

cpu-threads: $(READY) ## run kernels on the CPU device as loops and as coroutines: the same output (COUNT= random programs, SEED=)
	$(BIN)/python tests/cpu_threads.py --random $(or $(COUNT),20) --seed $(or $(SEED),1)

ndarray: $(READY) ## compare 300 random expressions of arrays with numpy (SEED=)
	NDARRAY_CASES=300 NDARRAY_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -n $(JOBS) tests/test_ndarray.py

same-code: $(READY) ## compare the LLVM text of all programs with that of a git ref (BASE=main, QUICK=1, EMITTED=1: what emit/ makes, FOLDER=)
	$(BIN)/python tests/same_code.py --base $(or $(BASE),main) $(if $(QUICK),--quick) $(if $(EMITTED),--emitted) $(if $(FOLDER),--programs $(FOLDER)) -j $(JOBS)

fuzz: $(READY) ## compile 10,000 mutated programs: no traceback, no crash, no hang (COUNT=, SEED=)
	$(BIN)/python tests/fuzz.py --count $(or $(COUNT),10000) --seed $(or $(SEED),0)

fuzz-near: $(READY) ## compile 100,000 mutants of which most compile: no traceback, no crash, no hang (COUNT=, SEED=)
	$(BIN)/python tests/fuzz_near.py --count $(or $(COUNT),100000) --seed $(or $(SEED),0)

docs: LIBRARY_HOME := --home ../index.html
docs: library-pages ## make the site in build/site, with the library's pages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict -f docs/site/mkdocs.yml
	rm -rf build/site/library && cp -r build/library build/site/library

library-pages: $(READY) ## make the library's reference pages in build/library, from its docstrings
	$(BIN)/ktc doc stdlib -o build/library --title "Library of ktc" --with-sources $(LIBRARY_HOME) --exclude archive --exclude archive_device

release: wheel docs vsix ## make what a version consists of: sdist, wheel, extension, site (docs/releasing.md)
	$(BIN)/python -c 'from setuptools.build_meta import build_sdist; print(build_sdist("dist"))'
	cp build/ktc.vsix dist/

vsix: ## build the VS Code extension, build/ktc.vsix (wants npm)
	mkdir -p build
	cd editors/vscode && npm install --no-audit --no-fund && npm test && npm run package

fuzz-lsp: $(READY) ## edit a program 10,000 times in the language server, with questions after each: no crash (COUNT=, SEED=)
	KTC_LSP_EDITS=$(or $(COUNT),10000) KTC_LSP_SEED=$(or $(SEED),5) $(BIN)/python -m pytest -q tests/unit/tools/test_lsp.py -k random_edits

grammar: ## make the tree-sitter parser of editors/tree-sitter-ktc and run its tests (wants tree-sitter)
	cd editors/tree-sitter-ktc && tree-sitter generate --no-bindings && tree-sitter test

fuzz-format: $(READY) ## format all programs and 2,000 mutants: same tree, same comments, stable (COUNT=, SEED=)
	$(BIN)/python tests/fuzz_format.py --count $(or $(COUNT),2000) --seed $(or $(SEED),0)

checked: $(READY) ## run wrong programs and their repaired twins with --check: each is reported, none falsely
	$(BIN)/python tests/checked_programs.py

races: $(READY) ## random kernels with races: the quick first look must doubt all that the exact checks report (COUNT=, SEED=)
	$(BIN)/python tests/random_races.py --count $(or $(COUNT),20) --seed $(or $(SEED),1)

differential: $(READY) ## compare tests/run and random programs with the reference of their edition, if it is installed (FOLDER=, SAMPLE=, COUNT=, MOJO=, MOJO_2026=)
	$(BIN)/python tests/differential.py $(or $(FOLDER),tests/run) --random $(or $(COUNT),20) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(MOJO),--mojo $(MOJO)) $(if $(MOJO_2026),--mojo-2026 $(MOJO_2026))

bench: native ## measure builds, against mojo and nvcc where they are found (MOJO=, NVCC= name them)
	$(BIN)/python benchmarks/compile.py
	$(BIN)/python benchmarks/ordinary.py
	KTC=$(BIN)/ktc $(BIN)/python benchmarks/run_time.py
	KTC=$(BIN)/ktc $(BIN)/python benchmarks/cpu_device.py
	KTC=$(BIN)/ktc $(BIN)/python benchmarks/checks.py
	@mkdir -p build
	$(BIN)/ktc bench compile $(BENCHED) --json build/compile_flows.json $(if $(CHART),--chart $(CHART))

bench-gpu: $(READY) ## measure kernels on this machine's NVIDIA GPU beside their CUDA twins (NVCC=, CHART=)
	@mkdir -p build
	KTC=$(BIN)/ktc $(BIN)/python benchmarks/gpu_kernels.py --json build/gpu_kernels.json --markdown build/gpu_kernels.md --chart $(or $(CHART),build/gpu_kernels)

scaling: native ## measure how builds grow with kernels, their size, and the depth of instantiation
	$(BIN)/python benchmarks/scaling.py

ulp: $(READY) ## measure the errors of the mathematical functions (MOJO=, FUNCTIONS=, FLOATS=)
	KTC=$(BIN)/ktc $(BIN)/python benchmarks/ulp.py $(if $(MOJO),--mojo $(MOJO)) $(if $(FUNCTIONS),--functions $(FUNCTIONS)) $(if $(FLOATS),--types $(FLOATS))

clean: ## remove what was built; .venv stays
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
