# Each command first prepares .venv: it looks for a Python, and tools/bootstrap.py installs what's missing. The rest
# runs in .venv.
# PYTHON=  a Python of your choice
# ARGS=    more arguments for jupyter lab, pytest or the benchmarks
# EXTRAS=  more of pyproject.toml's extras, such as cuda12

unexport PYTHONHOME  # it would lead .venv's Python astray
PYTHONS := $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3 python)

# The first that really starts and is new enough: a name can be there (a pyenv shim) and fail when it is called.
# If there is none, the last one that starts says what helps.
define prepare
@found= ; any= ; \
for p in $(PYTHONS); do \
  v=$$($$p -c 'import sys; print("%d.%d.%d" % tuple(sys.version_info[:3]))' 2>/dev/null) || continue; \
  case $$v in \
    3.1[1-9].*|3.[2-9][0-9].*|[4-9].*) exec $$p tools/bootstrap.py $(1) $(EXTRAS);; \
    ?*) found="$$found$${found:+, }$$p is $$v"; any=$$p;; \
  esac; \
done; \
if [ -n "$$any" ]; then FLUXLITE_FOUND="$$found" exec $$any tools/bootstrap.py $(1); fi; \
echo "fluxlite needs Python 3.11 or newer; none of these starts: $(PYTHONS). This helps:"; \
sudo=; if command -v sudo >/dev/null; then sudo="sudo "; fi; \
if command -v apt-get >/dev/null; then echo "    $${sudo}apt install python3-venv"; \
elif command -v dnf >/dev/null; then echo "    $${sudo}dnf install python3.12"; \
elif command -v brew >/dev/null; then echo "    brew install python@3.13"; \
else echo "    uv run --python 3.12 --extra lab python -m fluxlite lab  (uv: docs.astral.sh/uv)"; fi; \
exit 1
endef

.PHONY: help lab test bench site lite exercises lesson handout sheets slides nbgrader wheelhouse colab clean

help:
	@echo "make lab     install what is needed into .venv, open JupyterLab at the first notebook"
	@echo "make test    check style and types, run all tests and all notebooks"
	@echo "make bench   compare the speed with PyTorch and JAX"
	@echo "make site    make the site: the lessons to read, the reference, and more; then open build/site/html/index.html"
	@echo "make lite    make a site that runs the lessons in a browser, with nothing to install, in build/lite"
	@echo "make clean   remove .venv and everything else that was made here (not your own notebooks)"
	@echo
	@echo "make exercises   make the learners' copies of the lessons and the list of examples again"
	@echo "make lesson      make a new lesson, ARGS=17, whose tests pass: yours to fill"
	@echo "make handout     make a zip file for a class, in build, ARGS=\"--stick --browser\"; or ARGS=\"--folder DIR\", for a hub"
	@echo "make sheets      make sheets of exercises and questions to print for a class, in build/sheets, or ARGS=\"02.1 03\""
	@echo "make slides      make slides of a lesson for a projector, ARGS=05, in build/slides"
	@echo "make nbgrader    make an nbgrader course from the lessons, in nbgrader-course, or ARGS=folder; nbgrader in .venv-nbgrader"
	@echo "make wheelhouse  download all that a class needs without a network, in wheelhouse, or ARGS=\"folder linux-3.12\""
	@echo "make colab       run the learners' lessons with the versions that Colab has, in .venv-colab, or ARGS=\"--kaggle 03\""
	@echo
	@echo "Also: make test ARGS=\"tests/fluxlite/tree -k ties\"   make lab EXTRAS=cuda12   make lab PYTHON=python3.12"

lab:
	$(call prepare,lab)
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/python -m fluxlite lab $(ARGS)

# The kernel of this .venv, whatever kernels the machine has; two minutes a cell, not nbval's 33.
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=120

# One BLAS thread per process: several processes with as many threads as there are cores get in each other's way.
test colab: export OPENBLAS_NUM_THREADS ?= 1
test colab: export OMP_NUM_THREADS ?= 1

# Cells are separate tests to nbval: loadfile keeps those of one notebook in one process. Where ARGS has no notebook,
# pytest starts a second sooner without nbval.
test:
	$(call prepare,lab test)
ifeq ($(strip $(ARGS)),)
	.venv/bin/python -m ruff check .
	.venv/bin/python -m mypy
	.venv/bin/python -m pytest -n logical --maxprocesses=4 --dist loadfile $(NBVAL) fluxlite simgpu fluxlite_course tests notebooks/*.ipynb
else
	.venv/bin/python -m pytest $(if $(findstring notebooks,$(ARGS))$(findstring .ipynb,$(ARGS)),$(NBVAL),-p no:nbval) $(ARGS)
endif

bench:
	$(call prepare,bench)
	@.venv/bin/python -m benchmarks $(ARGS)

site:
	$(call prepare,site)
	@.venv/bin/python docs/site/make.py $(ARGS)

# ARGS="--local FOLDER": with wheels of NumPy and Matplotlib for Pyodide, so that no browser asks another host.
lite:
	$(call prepare,lab lite)
	@.venv/bin/python tools/lite/make.py $(ARGS)

exercises:
	$(call prepare,lab)
	@.venv/bin/python tools/notebooks.py exercises

lesson:
	$(call prepare,lab)
	@.venv/bin/python tools/lesson.py $(ARGS)

# With --browser it makes that edition, too.
handout:
	$(call prepare,lab $(if $(findstring --browser,$(ARGS)),lite))
	@.venv/bin/python tools/handout/make.py $(ARGS)

sheets:
	$(call prepare,lab)
	@.venv/bin/python tools/sheets/make.py $(ARGS)

slides:
	$(call prepare,lab)
	@.venv/bin/python tools/slides/make.py $(ARGS)

nbgrader:
	$(call prepare,lab)
	@.venv/bin/python tools/grading.py $(ARGS)

wheelhouse:
	$(call prepare,lab)
	@.venv/bin/python tools/wheelhouse.py $(or $(ARGS),wheelhouse)

colab:
	$(call prepare,lab)
	@.venv/bin/python tools/colab.py $(ARGS)

clean:
	rm -rf .venv .venv-colab .venv-nbgrader .nox build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
	find . -name .ipynb_checkpoints -prune -exec rm -rf {} +
