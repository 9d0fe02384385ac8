# Targets for development. Each sets up the virtual environment it needs.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Heavy extras are installed in continuous integration only; elsewhere their tests are skipped if they are missing.
SEEDS  ?= 10
HEAVY  := $(if $(filter true,$(CI)),$(shell sed 's/#.*//' .ci/extras))
empty  :=
TEST   := $(subst $(empty) $(empty),+,$(strip test $(HEAVY)))

.PHONY: help demo test check docs laws fuzz soak mutants release-check paper quality bench format clean

help:
	@echo "make demo     FOCUS on scanned digits and on a drawn clip: a table, out/demo.png, two reports"
	@echo "make test     all tests; needs Python 3.11 or newer"
	@echo "make check    formatting, lint, types and import layers"
	@echo "make docs     build the site, out/docs/index.html, and run the gallery; a warning is an error"
	@echo "make laws     property tests with 1000 examples each instead of 100 (minutes)"
	@echo "make fuzz     decompression bombs, 5000 runs of each parser, mutated files, videos and models"
	@echo "make soak     kill servers, learners and workers, and fill disks: nothing may be lost, doubled or wrong (minutes)"
	@echo "make mutants  change every statement of algebra and review until a test fails (an hour)"
	@echo "make release-check   build wheel and sdist, and run the demo with the wheel in an empty environment (minutes)"
	@echo "make paper    measure every claim of the paper, out/paper.html (a minute; FULL=1 repeats all seeds)"
	@echo "make quality  all methods and detectors on real data (hours), out/quality.csv and out/quality.html"
	@echo "make bench    time fit, transform and update against dsyrk and other methods (minutes; FULL=1: full sizes)"
	@echo "make format   format the code with ruff"
	@echo "make clean    remove the virtual environment and all generated files"

demo: $(VENV)/plot+video.ready
	@mkdir -p out
	$(BIN)/undistract demo --save out/demo.png --folder out

test: $(VENV)/$(TEST).ready
	@sh .ci/system
	$(BIN)/python -m pytest

check: $(VENV)/check.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/docs.ready
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -c docs . out/docs
	@echo "Open out/docs/index.html"

laws: $(VENV)/$(TEST).ready
	UNDISTRACT_LAWS=long $(BIN)/python -m pytest tests/laws tests/detect

fuzz: $(VENV)/test+video+onnx+fuzz+browser.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns.bombs
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns.parsers
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns.loaders
	$(BIN)/python -m tests.campaigns.videos
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.model_file_mutations --files 20000
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns.api --examples 1000

soak: $(VENV)/test+dask.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns.workers --kills 20
	$(BIN)/python -m tests.campaigns.verdicts --rounds 200 --full-disk 50 --fold 100000
	$(BIN)/python -m tests.campaigns.verdicts --rounds 200 --full-disk 50 --review
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns.checkpoints --kills 50

LINES = --lines --each 12 --seconds 10
mutants: $(VENV)/test+mutants.ready
	$(BIN)/python -m tests.campaigns.mutants --package algebra $(LINES) --save out/mutants_algebra.csv
	$(BIN)/python -m tests.campaigns.mutants --package review $(LINES) --save out/mutants_review.csv

release-check: $(VENV)/test+check.ready
	$(BIN)/python -m tests.campaigns.release --python "$(PYTHON)"

# DATA=DIR points at a folder with the images; without it they are looked for, then downloaded.
paper: $(VENV)/plot+paper.ready
	$(BIN)/python -m paper.formulation
	$(BIN)/python -m paper.analytic_example
	$(BIN)/python -m paper.pca_failure
	$(BIN)/python -m paper.illuminated_silhouettes $(if $(FULL),--anew --seeds $(SEEDS),--quick) $(if $(DATA),--data $(DATA))
	$(BIN)/python -m paper.silhouette_figures $(if $(DATA),--data $(DATA))
	$(BIN)/python -m paper.claims
	$(BIN)/python -m paper.page --save out/paper.html

# What out/quality.csv already holds is not run again.
QUALITY = OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality.run --workers 2 --save out/quality.csv --detectors kNN LOF 'isolation forest'
quality: $(VENV)/plot+tables.ready
	$(QUALITY) --part choose --seeds 1
	$(QUALITY) --part report --seeds 5
	$(BIN)/python -m benchmarks.quality.table out/quality.csv --page out/quality.html > out/quality.md

ROUNDS ?= 3
bench: $(VENV)/plot+bench.ready
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed.run $(if $(FULL),--full) --rounds $(ROUNDS) --save out/speed.csv --plot out/speed.png

format: $(VENV)/check.ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# One rule sets up every kind of environment: plot, test, check are names of extras, test+pyod are two of them.
# The lock lets `make demo` and `make test` run side by side on a fresh clone.
$(VENV)/%.ready: pyproject.toml constraints.txt .ci/extras
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh .ci/set-up "$$(echo '$*' | tr + ,)"
	@touch $@

clean:
	rm -rf docs/gallery docs/reference/packages docs/reference/names docs/reference/commands
	rm -rf $(VENV) out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
