# Each task needs only make and Python 3.11+ (and Java 17+ for Spark): it creates .venv,
# and installs again when pyproject.toml has changed.

VENV   := .venv
BIN    := $(VENV)/bin
RUNNER ?= local
N      ?= 1000
KILLS  ?= 50
# `make test` runs a tenth of the kills, of the first commands in fresh clones, and of other long tests: each day of
# the year another one.
DAY ?= $(shell expr $$(date +%j) + 0)
FIRST_KILL ?= $(shell expr $(DAY) % 10 \* 5)
# `make test` runs a sample of the tests on one older Spark: each day of the year another one; none if this is empty.
OLDER_SPARK ?= $(word $(shell expr $(DAY) % 3 + 1),4.0 4.1 4.2)
ON_OLDER_SPARK := tests/model/test_figures.py tests/faults/test_failing.py tests/compatibility
ON_OLDER_SPARK += tests/unit/sdk/io/lake/test_spark_readers.py
OF_TODAY := HEADRACE_KILLS=5 HEADRACE_FIRST_KILL=$(FIRST_KILL) HEADRACE_DAY=$(DAY)
# Without Spark it has half of the random cases, of one of ten seeds, also by the day; HEADRACE_PROFILE=ci has all cases
# of a seed that stays.
HEADRACE_PROFILE ?= day
CASES_OF_TODAY := --hypothesis-seed=$(shell expr $(DAY) % 10)
# `make test` runs these tests on Spark beside the others, in a process of their own: each has half of the time.
BESIDE := tests/model tests/faults tests/compatibility tests/unit/sdk/observing tests/beam/nexmark
BESIDE += tests/beam/judge tests/beam/suites tests/docs tests/benchmarks tests/laws
# `make test` uses more processes than cores, since many tests wait for servers, programs and the clock.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 3 / 2)
# Tests start about a hundred JVMs with Spark: this Java reads the classes from an archive.
TEST_JAVA := $(VENV)/java-of-tests/bin/java
SPARK_VENVS := $(foreach version,4.0 4.1 4.2 4.3,$(VENV)/spark-$(version)/installed)
# The local demo runs in streaming mode; `make demo STREAMING=` runs it in batch mode.
STREAMING ?= $(if $(filter local,$(RUNNER)),1)
# The streaming demo on Spark is killed once; its checkpoint and results are here.
SPARK_DEMO := out/flights-on-spark

# Tests start hundreds of Python processes: without stored bytecode each of them would compile all modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo demo-orders test test-bank test-chaos test-fast older-spark test-older-spark test-spark-versions laws laws-runner laws-beam beam-paths beam-reference beam-suites beam-tests conformance prism comparison coverage mutants check format bench bench-nexmark bench-spark bench-yahoo bench-riot bench-linear-road bench-size reference pictures docs changelog hooks release-check need-java need-chromium need-services clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(if $(filter spark,$(RUNNER)),need-java) $(VENV)/.with-demo$(if $(filter spark,$(RUNNER)),+spark) ## run the example job on real flights [RUNNER=local|spark] [STREAMING=1|] [ARGS=...]
ifeq ($(RUNNER)$(if $(STREAMING),streaming),sparkstreaming)
	rm -rf $(SPARK_DEMO)
	$(BIN)/python tools/kill_once.py --after 5 $(SPARK_DEMO)/checkpoint -- \
		$(BIN)/python examples/flights.py --runner=spark --streaming --max-records-per-batch=20000 \
		--checkpoint=$(SPARK_DEMO)/checkpoint --keep=$(SPARK_DEMO)/panes $(ARGS)
else
	$(BIN)/python examples/flights.py --runner=$(RUNNER) $(if $(STREAMING),--streaming) $(ARGS)
endif

demo-orders: need-services $(if $(filter spark,$(RUNNER)),need-java) $(VENV)/.with-dev$(if $(filter spark,$(RUNNER)),+spark) ## run the example of orders with a Kafka broker and a PostgreSQL server of its own [RUNNER=local|spark] [ARGS=...]
	$(BIN)/python tools/with_servers.py -- $(BIN)/python -m examples.orders \
		'--kafka={kafka}' '--database={database}' --runner=$(RUNNER) $(ARGS)

test: need-java need-chromium need-services $(VENV)/.with-dev+beam+spark+connect+demo $(TEST_JAVA) $(if $(OLDER_SPARK),test-older-spark) ## run all tests, on Spark too, with a tenth of the kills and of other long tests; install Java, Chromium and servers if possible [ARGS=...]
	$(OF_TODAY) HEADRACE_PROFILE=$(HEADRACE_PROFILE) $(BIN)/pytest $(CASES_OF_TODAY) -n $(WORKERS) --dist worksteal -m "not spark and not chaos or sampled" $(ARGS)
	@mkdir -p out
	$(OF_TODAY) $(BIN)/pytest -n 0 -m "spark and not chaos" $(BESIDE) $(ARGS) >out/beside.txt 2>&1 & \
	beside=$$!; status=0; \
	$(OF_TODAY) $(BIN)/pytest -n 0 -m "spark and not chaos" $(BESIDE:%=--ignore=%) $(ARGS) || status=1; \
	wait $$beside || status=1; cat out/beside.txt; exit $$status

test-bank: need-services $(if $(filter spark,$(RUNNER))$(findstring --compare,$(ARGS)),need-java) $(VENV)/.with-dev$(if $(findstring --compare,$(ARGS)),+beam)$(if $(filter spark,$(RUNNER))$(findstring --compare,$(ARGS)),+spark) ## transfers between accounts, while readers check that all balances add up to 0 [RUNNER=local|spark] [N=1000000] [ARGS="--compare --write"]
	$(BIN)/python -m benchmarks.bank --runner $(RUNNER) $(if $(filter file,$(origin N)),,--transfers=$(N)) $(ARGS)

test-chaos: need-java need-services $(VENV)/.with-dev+beam+spark+demo $(TEST_JAVA) ## run the long tests: kills, restarts, pauses, full disks and cut connections of drivers, clusters and servers, and each task in a fresh clone [KILLS=50] [ARGS=...]
	HEADRACE_KILLS=$(KILLS) $(BIN)/pytest -n 0 -m chaos $(ARGS)

older-spark: $(VENV)/spark-$(OLDER_SPARK)/installed

test-older-spark: need-java $(VENV)/.with-dev+spark $(VENV)/spark-$(OLDER_SPARK)/installed ## run a sample of the tests on an older Spark [OLDER_SPARK=4.0|4.1|4.2] [ARGS=...]
	$(VENV)/spark-$(OLDER_SPARK)/bin/python -m pytest -m "spark and spark_versions" $(ON_OLDER_SPARK) $(ARGS)

test-spark-versions: need-java $(VENV)/.with-dev+spark+demo $(SPARK_VENVS) ## run all tests on Spark with each supported version, and write docs/reference/spark-versions.md [ARGS=--only=4.0]
	$(VENV)/spark-4.3/bin/python tools/spark_test_runs.py $(ARGS)

test-fast: $(VENV)/.with-dev ## run the tests on the local runner, without slow ones [ARGS=...]
	HEADRACE_PROFILE=quick $(BIN)/pytest -n auto --dist worksteal -m "not spark and not slow" $(ARGS)

laws: $(VENV)/.with-dev ## check each law on N random cases; store failures in tests/laws/found [N=1000] [ARGS=...]
	HEADRACE_CASES=$(N) $(BIN)/pytest tests/laws -n 0 -m "not spark" --hypothesis-show-statistics $(ARGS)

laws-runner: $(if $(filter spark,$(RUNNER)),need-java) $(VENV)/.with-dev$(if $(filter spark,$(RUNNER)),+spark) ## check a runner against all laws, N cases each; store failures [RUNNER=local|spark] [N=1000] [ARGS=...]
	$(BIN)/python -m tests.laws --runner=$(RUNNER) --each=$(N) $(ARGS)

laws-beam: $(VENV)/.with-dev+beam ## compare with Beam's trigger code on N random cases each [N=1000] [ARGS=...]
	HEADRACE_CASES=$(N) $(BIN)/pytest tests/beam/reference/test_trigger_driver.py -n 0 --hypothesis-show-statistics $(ARGS)

beam-tests: $(VENV)/.with-beam-tests ## run Beam's own tests with one import changed, and write docs/reference/beam-tests.md [ARGS=--only='transforms/*']
	$(BIN)/python tools/beam_tests.py $(ARGS)

beam-suites: $(if $(findstring --mode=local,$(ARGS)),,need-java) $(VENV)/.with-beam-tests+spark ## run Beam's own suites unchanged, and write docs/reference/beam-suites.md [ARGS="--suite=triggers --mode=local"]
	$(BIN)/python tools/beam_suites.py $(ARGS)

beam-reference: $(VENV)/.with-dev+beam ## write docs/reference/beam.md: each name of Beam's, and what Headrace has for it
	$(BIN)/python tools/beam_reference.py

beam-paths: $(VENV)/.with-dev ## write the modules under Beam's paths, such as headrace/transforms, from headrace/sdk/beam/paths.toml
	$(BIN)/python tools/beam_paths.py

conformance: $(VENV)/.with-dev+beam ## write docs/reference/conformance.md and capabilities.md [PRISM=path/to/prism] [JUDGE=1: judge Beam's runners]
	$(BIN)/python -m tests.beam.conformance $(if $(PRISM),--prism=$(PRISM)) $(if $(JUDGE),--judge)

prism: $(VENV)/.with-dev+beam ## build Prism, Beam's runner in Go, as .venv/prism; then: make conformance JUDGE=1 PRISM=.venv/prism
	@command -v go > /dev/null || { echo "Prism is written in Go: install Go from https://go.dev/dl"; exit 1; }
	GOBIN=$(abspath $(VENV)) go install github.com/apache/beam/sdks/v2/go/cmd/prism@v$$($(BIN)/python -c 'import importlib.metadata as m; print(m.version("apache-beam"))')

comparison: need-java $(VENV)/.with-dev+beam+spark $(if $(FLINK),$(VENV)/flink/installed) ## ask Headrace, Beam and Structured Streaming the same questions, and write docs/reference/comparison.md [FLINK=1]
	$(BIN)/python -m tests.beam.comparison $(if $(FLINK),--flink=$(VENV)/flink/bin/python)

coverage: $(VENV)/.with-dev ## measure branch coverage; windowing, triggers and grouping need at least 95 % each [ARGS=...]
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto -m "not spark and not chaos" $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/coverage report --include='headrace/windowing/*' --fail-under=95
	$(BIN)/coverage report --include='headrace/triggers/*' --fail-under=95
	$(BIN)/coverage report --include='headrace/grouping/*' --fail-under=95

mutants: $(VENV)/.with-mutants ## run mutation tests of windowing, triggers and grouping [ARGS=...]
	HEADRACE_PROFILE=mutants $(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut export-cicd-stats
	$(BIN)/python tools/mutants_killed.py --least=90 mutants/mutmut-cicd-stats.json

check: $(VENV)/.with-dev+beam+spark ## check format, lint, types, imports between packages, doctests, public names and the reference
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@mkdir -p out
	$(BIN)/mypy >out/mypy.txt 2>&1 & \
	mypy=$$!; status=0; \
	{ $(BIN)/lint-imports && $(BIN)/pytest --quiet --doctest-modules headrace tests/unit/test_public_api.py; } || status=1; \
	wait $$mypy || status=1; cat out/mypy.txt; exit $$status
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/beam_paths.py --check
	$(BIN)/python tools/beam_reference.py --check
	$(BIN)/python tools/pictures.py --check

format: $(VENV)/.with-dev ## format the code and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.with-beam+bench ## compare the speed of the local runner with a dict loop, Beam and bytewax [ARGS=...]
	$(BIN)/python benchmarks/local.py $(ARGS)

bench-nexmark: $(if $(filter spark,$(RUNNER)),need-java) $(VENV)/.with-dev+beam+spark ## run Nexmark's queries, with checked answers, beside published figures [RUNNER=local|spark|"local beam spark"] [ARGS=--write]
	$(BIN)/python -m benchmarks.nexmark --runner $(RUNNER) $(ARGS)

bench-spark: need-java $(VENV)/.with-beam+spark ## compare the speed of the Spark runner with RDDs, DataFrames and Structured Streaming [ARGS=...]
	$(BIN)/python benchmarks/spark.py $(ARGS)

bench-yahoo: need-java need-services $(VENV)/.with-dev+spark ## measure the latency of the Yahoo streaming benchmark, Kafka to Redis, beside Structured Streaming, with checked counts [ARGS=--write]
	$(BIN)/python -m benchmarks.yahoo $(ARGS)

bench-riot: need-java $(VENV)/.with-dev+spark ## run RIoTBench's applications on each runner, with checked answers [ARGS=--write]
	$(BIN)/python -m benchmarks.riot $(ARGS)

bench-linear-road: need-java $(VENV)/.with-dev+spark ## run Linear Road's queries on each runner, with checked answers [ARGS=--write]
	$(BIN)/python -m benchmarks.linear_road $(ARGS)

bench-size: need-java $(VENV)/.with-dev+spark ## run 100,000,000 bids and sessions of 10,000,000 users on Spark, and sample memory and state [ARGS=--write]
	$(BIN)/python -m benchmarks.size $(ARGS)

reference: $(VENV)/.with-dev+beam+spark ## write the reference of the public names in docs/reference, from docstrings
	$(BIN)/python tools/reference.py

pictures: $(VENV)/.with-dev ## draw the figures of the paper and the book from runs, into docs/pictures [ARGS=--screens]
	$(BIN)/python tools/pictures.py $(ARGS)

docs: $(VENV)/.with-docs ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

changelog: $(VENV)/.with-dev ## write the unreleased part of CHANGELOG.md from the fragments in changelog.d
	$(BIN)/python tools/changelog.py

hooks: $(VENV)/.with-hooks ## check format and types before each commit, with pre-commit
	$(BIN)/pre-commit install

release-check: $(VENV)/.with-dev+release ## build the packages into dist/, and check their metadata and the change log
	$(BIN)/python tools/changelog.py --check
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

need-java:
	@tools/need-java

need-chromium:
	@tools/need-chromium

need-services:
	@tools/need-services

clean: ## remove the virtual environment and all build output
	rm -rf $(VENV) site dist build .coverage .coverage.* htmlcov mutants
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# `.venv/.with-dev+spark` means that headrace[dev,spark] is installed: one run installs what is missing.
$(VENV)/.with-%: pyproject.toml | $(BIN)/python
	@tools/install-extras $(VENV) $(subst +, ,$*)
	@touch $@

$(TEST_JAVA): pyproject.toml | $(VENV)/.with-dev+spark
	$(BIN)/python -m tests.support.archived_classes
	@touch $@

# One virtual environment per version of Spark: `.venv/spark-4.0/installed` means that it has Spark 4.0.
# All other packages are those of .venv.
.PRECIOUS: $(VENV)/spark-%/installed
$(VENV)/spark-%/installed: pyproject.toml | $(BIN)/python
	tools/make-spark-venv $(VENV) $(@D) $*
	@touch $@

# PyFlink needs an environment of its own, since it depends on an old apache-beam.
$(VENV)/flink/installed: | $(BIN)/python
	$(BIN)/python -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --prefer-binary 'apache-flink==2.3.*' 'attrs>=23.2' 'setuptools<80'
	@touch $@

$(BIN)/python:
	@tools/make-venv $(VENV)
