# make score   build what is missing, then score three built-in models against simulated V1, and draw the result
# make tour    the same of all built-in models on all built-in benchmarks, which takes minutes
# make test    build what is missing, then run every check
# make docs    build the site of the documentation
# make help    the other targets

# The interpreter to build with; by default the first Python 3.11 or newer on the PATH.
PYTHON ?=
# Options for the command of `make score` and `make perf`, or for pytest in `make test`.
ARGS ?=
# Test processes.
WORKERS ?= 2
# Which tests: those that are not marked as slow; none leaves none out, as in continuous integration.
MARKS ?= not slow

# Which accelerator `make gpu` installs JAX for: cuda or tpu.
ACCELERATOR ?= cuda

# What `make score` scores where nothing else is asked for, and what there is to learn from it.
FIRST := $(foreach model,gabor-v1 image-statistics pixels,--model $(model)) --benchmark Simulated.V1-ridge \
	--benchmark Simulated.V1-cka --figure scores.png
LESSON := '' 'The neuroids are simulated: noisy units of gabor-v1, so that gabor-v1 should win. Statistics of' \
	'whole images predict some of what they do; pixels, a control, predict nothing.' '' \
	'.venv/bin/bsjax show Simulated.V1-ridge   what the benchmark shows, records and compares' \
	'.venv/bin/bsjax list models               what else there is to score; docs/models.md scores a network of yours' \
	'make tour                                 all built-in models on all built-in benchmarks, in some minutes'

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
UNFINISHED := $(VENV)/unfinished
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.14 python)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help score tour test lint format docs links matrix perf ahead gpu cards clean

help:
	@echo 'make score    score three built-in models against simulated V1 (ARGS="--model M --benchmark B": others)'
	@echo 'make tour     score all built-in models on all built-in benchmarks, and compare properties of single neurons'
	@echo 'make test     format, lint, layer contracts, types, then the tests (ARGS="-k name"; MARKS= for slow ones too)'
	@echo 'make lint     all of that but the tests'
	@echo 'make format   rewrite the files as the format check wants them'
	@echo 'make docs     build the site of the documentation in docs/_build/html, and execute the notebooks that have changed'
	@echo 'make links    look whether the addresses of other sites in it still answer'
	@echo 'make matrix   the lowest versions that are named, and the newest, on each Python from 3.11 on that is here'
	@echo 'make perf     measure speed beside other implementations (ARGS="--fast", ARGS="--rows pls,cka")'
	@echo 'make ahead    compile every program for a TPU and a GPU that are not here (ARGS="--platform tpu --programs pls")'
	@echo 'make gpu      the reference cases and the speed on a GPU (ACCELERATOR=tpu: on a TPU)'
	@echo 'make cards    measure what each metric tells apart, and write docs/cards.md'
	@echo 'make clean    remove the environments and caches that these made'

score: $(VENV)/core
	@$(BIN)/bsjax score $(or $(ARGS),$(FIRST))
	@$(if $(ARGS),,printf '%s\n' $(LESSON))

tour: $(VENV)/core
	@$(BIN)/bsjax score --figure v1-properties.png $(ARGS)

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) -m '$(MARKS)' $(ARGS)

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs
	@BSJAX_HOME=$(abspath docs/_build/home) $(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo 'bsjax: the site is docs/_build/html/index.html'

links: $(VENV)/docs
	@$(BIN)/python -m sphinx -b linkcheck -q -D nb_execution_mode=off docs docs/_build/links

matrix:
	@.ci/matrix

perf: $(VENV)/core
	@$(BIN)/python -m benchmarks_perf $(ARGS)

# The compilers are installed in .venv-ahead, some GB.
ahead: $(VENV)/core
	@$(BIN)/python -m benchmarks_perf.ahead $(ARGS)

gpu: $(VENV)/core
	@$(PIP) install --constraint constraints.txt --editable '.[$(ACCELERATOR),plots]'
	@$(BIN)/python -m benchmarks_perf.oracle
	@$(BIN)/python -m benchmarks_perf $(ARGS)

cards: $(VENV)/core
	@$(BIN)/python -m bsjax.testing.cards

clean:
	rm -rf $(VENV) docs/_build docs/reference/names docs/reference/packages.md .venv-peers .venv-ahead .venv-matrix build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is ready when its stamp is newer than what it was made from. bsjax is installed editable: a change
# of its code installs nothing again. An installation that was interrupted leaves no stamp or $(UNFINISHED) behind,
# and the next one starts from an empty environment instead of trusting half-written packages.
define begin_install
	@if [ -e $(UNFINISHED) ] || ! [ -e $(VENV)/core ] || ! [ -x $(BIN)/python ]; then \
	  for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	      echo "bsjax: making the environment $(VENV) with $$("$$candidate" --version)"; \
	      "$$candidate" -m venv --clear $(VENV) || exit 1; \
	      touch $(UNFINISHED); \
	      exit 0; \
	    fi; \
	  done; \
	  echo 'bsjax: needs Python 3.11 or newer with its venv module; tried: $(CANDIDATES).' >&2; \
	  echo 'bsjax: name an interpreter with: make PYTHON=/path/to/python3.11 ...' >&2; \
	  exit 1; \
	fi
	@touch $(UNFINISHED)
endef

$(VENV)/core: pyproject.toml constraints.txt
	$(begin_install)
	@echo 'bsjax: installing what bsjax needs (once, a minute or two)'
	@$(PIP) install --constraint constraints.txt --editable '.[plots]'
	@rm $(UNFINISHED)
	@touch $@

$(VENV)/dev: pyproject.toml constraints.txt
	$(begin_install)
	@echo 'bsjax: installing what bsjax needs, all its extras and the test tools (once, a few minutes)'
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --constraint constraints.txt --editable '.[dask,distributed,flax,huggingface,keras,leaderboard,parquet,plots,postgresql,service,torch,video,zarr]' --group dev --group docs
	@rm $(UNFINISHED)
	@touch $(VENV)/core $(VENV)/docs $@

$(VENV)/docs: pyproject.toml constraints.txt
	$(begin_install)
	@echo 'bsjax: installing what the site of the documentation is built by (once, a few minutes)'
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --constraint constraints.txt --editable '.[flax,leaderboard,plots,torch]' --group docs
	@rm $(UNFINISHED)
	@touch $(VENV)/core $@
