# Every task needs only make and Python 3.11+ (and Java 17+ where Spark runs): it makes .venv itself,
# and installs again when pyproject.toml has changed.

VENV   := .venv
BIN    := $(VENV)/bin
RUNNER ?= local
N      ?= 1000
KILLS  ?= 50
# The local demo streams, for that is the harder way to the same rows; `make demo STREAMING=` is batch.
STREAMING ?= $(if $(filter local,$(RUNNER)),1)
# The demo that streams on Spark is killed once on the way; what it goes on from lies here.
SPARK_DEMO := out/flights-on-spark

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-chaos test-fast laws laws-runner laws-beam conformance coverage mutants check format bench bench-spark docs need-java clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.with-demo $(if $(filter spark,$(RUNNER)),need-java $(VENV)/.with-spark) ## run the main job on real flights [RUNNER=local|spark] [STREAMING=1|] [ARGS=...]
ifeq ($(RUNNER)$(if $(STREAMING),streaming),sparkstreaming)
	rm -rf $(SPARK_DEMO)
	$(BIN)/python tools/kill_once.py --after 5 $(SPARK_DEMO)/checkpoint -- \
		$(BIN)/python examples/flights.py --runner=spark --streaming --max-records-per-batch=20000 \
		--checkpoint=$(SPARK_DEMO)/checkpoint --keep=$(SPARK_DEMO)/panes $(ARGS)
else
	$(BIN)/python examples/flights.py --runner=$(RUNNER) $(if $(STREAMING),--streaming) $(ARGS)
endif

test: need-java $(VENV)/.with-dev $(VENV)/.with-beam $(VENV)/.with-spark $(VENV)/.with-demo ## run all tests, Beam's opinion included (installs Java for Spark if it can) [ARGS=...]
	$(BIN)/pytest -n auto -m "not spark" $(ARGS)
	$(BIN)/pytest -n 0 -m "spark and not chaos" --ignore tests/faults $(ARGS)
	$(BIN)/pytest -n 0 -m "spark and not chaos" tests/faults $(ARGS)
	$(BIN)/pytest -n 2 --dist loadscope -m "chaos and not network" $(ARGS)

test-chaos: need-java $(VENV)/.with-dev $(VENV)/.with-spark $(VENV)/.with-demo ## kill, restart and cut off drivers, clusters and a Kafka broker [KILLS=50] [ARGS=...]
	HEADRACE_KILLS=$(KILLS) $(BIN)/pytest -n 0 -m chaos $(ARGS)

test-fast: $(VENV)/.with-dev ## run the tests of the local runner, in under two minutes [ARGS=...]
	$(BIN)/pytest -n auto -m "not spark and not slow" $(ARGS)

laws: $(VENV)/.with-dev ## try the laws on N random cases each, count them, keep what is found in tests/laws/found [N=1000] [ARGS=...]
	HEADRACE_CASES=$(N) $(BIN)/pytest tests/laws -n 0 -m "not spark" --hypothesis-show-statistics $(ARGS)

laws-runner: $(VENV)/.with-dev $(if $(filter spark,$(RUNNER)),need-java $(VENV)/.with-spark) ## hold a runner to all laws until each has seen N cases, keep what is found [RUNNER=local|spark] [N=1000] [ARGS=...]
	$(BIN)/python -m tests.laws --runner=$(RUNNER) --each=$(N) $(ARGS)

laws-beam: $(VENV)/.with-dev $(VENV)/.with-beam ## ask Beam's trigger code for its opinion on N random cases each [N=1000] [ARGS=...]
	HEADRACE_CASES=$(N) $(BIN)/pytest tests/beam_reference/test_trigger_driver.py -n 0 --hypothesis-show-statistics $(ARGS)

conformance: $(VENV)/.with-dev $(VENV)/.with-beam ## write docs/reference/conformance.md and capabilities.md [PRISM=path/to/prism]
	$(BIN)/python -m tests.conformance $(if $(PRISM),--prism=$(PRISM))

coverage: $(VENV)/.with-dev ## measure branch coverage; windowing and triggers must have 95 % each [ARGS=...]
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto -m "not spark" $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/coverage report --include='headrace/windowing/*' --fail-under=95
	$(BIN)/coverage report --include='headrace/triggers/*' --fail-under=95

mutants: $(VENV)/.with-mutants ## change windowing and triggers line by line, and see whether the tests notice [ARGS=...]
	HEADRACE_PROFILE=mutants $(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut export-cicd-stats
	$(BIN)/python tools/mutants_killed.py --least=90 mutants/mutmut-cicd-stats.json

check: $(VENV)/.with-dev $(VENV)/.with-spark ## format, lint, types, the fence between the rooms, doctests, public names
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet --doctest-modules headrace tests/test_public_api.py

format: $(VENV)/.with-dev ## format the code and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.with-beam $(VENV)/.with-bench ## measure the local runner beside a dict loop, Beam and bytewax [ARGS=...]
	$(BIN)/python benchmarks/local.py $(ARGS)

bench-spark: need-java $(VENV)/.with-spark ## measure the Spark runner beside RDDs, DataFrames and Spark's own streaming [ARGS=...]
	$(BIN)/python benchmarks/spark.py $(ARGS)

docs: $(VENV)/.with-docs ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

need-java:
	@tools/need-java

clean: ## remove the virtual environment and everything that was built
	rm -rf $(VENV) site dist build .coverage .coverage.* htmlcov mutants
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per extra: `.venv/.with-demo` says that headrace[demo] is installed.
$(VENV)/.with-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@tools/make-venv $(VENV)
