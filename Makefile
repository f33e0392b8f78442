# Everything that is made lies in build/ and .venv/. A target that is up to date does nothing.

SECONDS ?= 60
# The system's own Python if it is new enough, else the first on the PATH: what pyenv and conda put there is often newer,
# and hides what fails with the Python of the system that CONTRIBUTING names.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
            && echo /usr/bin/python3 || echo python3)
endif

VENV    := .venv/requirements.sha256
PACKAGE := build/package.stamp
RUN     := .venv/bin/python
SOURCES := $(shell find src include ext cli python -type f -not -name '*.pyc' 2>/dev/null) \
           meson.build meson_options.txt pyproject.toml README.md LICENSE THIRD-PARTY.md

# `make PYTHON=python3.13 ...` makes .venv again if it is of another version.
ifneq ($(origin PYTHON),file)
OTHER := $(shell [ -x .venv/bin/python ] && [ "$$($(PYTHON) -V)" != "$$(.venv/bin/python -V)" ] && echo other-python)
endif

# Keeps __pycache__ out of the source folders.
export PYTHONDONTWRITEBYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help demo test calibrate test-slow oldest bench lint format asan fuzz soak docs wheel clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(PACKAGE) ## run a small analysis and print its metrics
	@$(RUN) examples/demo.py

test: $(PACKAGE) ## run the tests that find most, cheapest first (a quarter of an hour)
	@$(PYTHON) tools/setup.py browser
	@$(RUN) tools/run_tests.py

calibrate: $(PACKAGE) ## simulate runs whose truth is known, and write docs/how-sure.md (half an hour)
	@$(RUN) tools/calibrate.py --write

test-slow: $(PACKAGE) ## run the other tests: threads, wheels, all end to end, how sure answers are (an hour)
	@$(PYTHON) tools/setup.py browser
	@$(PYTHON) tools/setup.py servers
	@$(RUN) tools/run_tests.py slow
	@$(RUN) tools/calibrate.py --short

oldest: $(PACKAGE) ## run a core of the tests with the oldest packages that are supported
	@$(RUN) tools/oldest.py

bench: $(PACKAGE) ## measure the cost, compared with its floor and roastcoffea 0.1.2 (BENCH=--quick: few rounds)
	@$(RUN) tools/build.py bench
	@$(RUN) tools/bench_environment.py $(BENCH)

lint: $(PACKAGE) ## check format, layers, exported symbols and the rules of the repository
	@$(RUN) tools/run_tests.py lint

format: $(VENV) ## format the C files
	@$(RUN) tests/lint/check_format.py --fix

asan: $(VENV) ## run the C tests under AddressSanitizer, UBSan and the leak check
	@$(RUN) tools/run_tests.py asan

fuzz: $(VENV) ## run each fuzz target for SECONDS=60 (the decoders need clang)
	@$(RUN) tools/run_fuzz.py $(SECONDS)

soak: SECONDS = 600
soak: $(PACKAGE) ## run for SECONDS=600 on a cluster with faults; SEED=... injects the same ones again
	@$(RUN) tools/soak.py $(SECONDS) $(SEED)

docs: $(PACKAGE) ## build the documentation into build/docs
	@$(RUN) -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

wheel: $(VENV) ## build sdist and wheels into dist, for each Python that is here
	@$(RUN) tools/wheels.py

clean: ## remove build and dist (.venv stays; it is remade when the requirements change)
	@rm -rf build dist

.PHONY: other-python
$(VENV): tools/requirements-dev.txt tools/setup.py $(OTHER)
	@$(PYTHON) tools/setup.py

$(PACKAGE): $(VENV) $(SOURCES)
	@$(RUN) tools/build.py package
	@touch $@
