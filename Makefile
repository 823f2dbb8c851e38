# Two set-up commands: `make demo` and `make test`. Everything goes into .venv/ and the
# user's data folder; nothing else on the machine is touched, except that missing system
# packages are installed when this runs as root.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find native -type f \( -name '*.cpp' -o -name '*.h' -o -name 'CMakeLists.txt' -o -name '*.cmake' \) 2>/dev/null)
BENCH_DATA ?= ../shared/data
# Such as --quick, or --peer LLAMA_BENCH for llama.cpp beside ours.
BENCH_OPTIONS ?=

.PHONY: demo test native-arm lint format bench system system-tests clean

demo: $(VENV)/.base
	$(BIN)/assistant models fetch
	$(BIN)/assistant demo

test: $(VENV)/.dev
	$(BIN)/assistant models fetch --all
	$(BIN)/python -m pytest -q

# The C++ tests and a short generation as the processors of a Raspberry Pi 3, 4 and 5. Says what to
# install where the cross-compiler or the emulator is missing; the model is used if it is fetched.
native-arm: $(VENV)/.dev
	@PATH="$(CURDIR)/$(BIN):$$PATH" KVQ_MODEL="$$($(BIN)/python -c \
	  'from assistant.models import path_of; print(path_of("smollm2-135m-instruct"))' 2>/dev/null)" \
	  sh tests/native/run_arm.sh

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	find native -name '*.cpp' -o -name '*.h' | xargs -r $(BIN)/clang-format --dry-run -Werror

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find native -name '*.cpp' -o -name '*.h' | xargs -r $(BIN)/clang-format -i

bench: $(VENV)/.dev
	$(BIN)/assistant models fetch --all
	$(BIN)/python tests/bench/run_all.py --data $(BENCH_DATA) --out docs/benchmarks.md \
	  $(BENCH_OPTIONS)

# The base install: what runs on a Raspberry Pi. No torch.
$(VENV)/.base: pyproject.toml $(NATIVE) | system
	@$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Everything for tests, training and the optional recognisers. Not on top of the base install,
# which would compile the native module twice.
$(VENV)/.dev: pyproject.toml $(NATIVE) | system system-tests
	@$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[whisper,vosk,train,dev]'
	@touch $(VENV)/.base $@

# What a fresh Debian or Raspberry Pi OS may lack: installed as root, else named in one line.
# PortAudio opens the microphone and the speaker; the demo and the tests do without it.
system:
	@command -v $(PYTHON) >/dev/null && \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.11"; exit 1; }
	@PATH="$$PATH:/usr/sbin:/sbin"; \
	packages() { \
	  command -v $${CXX:-c++} >/dev/null || echo g++; \
	  $(PYTHON) -c 'import ensurepip' 2>/dev/null || echo python3-venv; \
	  $(PYTHON) -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' \
	    2>/dev/null || echo python3-dev; \
	  ldconfig -p 2>/dev/null | grep -q libportaudio.so.2 || echo libportaudio2; \
	}; \
	need=$$(packages | xargs); \
	if [ "$$need" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  { apt-get install -y -qq $$need || { apt-get update -qq && apt-get install -y -qq $$need; }; } \
	    >/dev/null 2>&1; \
	  need=$$(packages | xargs); \
	fi; \
	case "$$need" in \
	"") ;; \
	libportaudio2) echo "For a real microphone and speaker: sudo apt install libportaudio2" ;; \
	*) echo "Something is missing, please install it: sudo apt install $$need"; exit 1 ;; \
	esac

# Real servers that the tests start themselves: a broker and a music player. Without them those
# tests are skipped with a reason. RUNLEVEL keeps the packages from starting theirs.
system-tests:
	@PATH="$$PATH:/usr/sbin"; \
	need="$$(command -v mosquitto >/dev/null || echo mosquitto) $$(command -v mpd >/dev/null || echo mpd)"; \
	if [ "$$(echo $$need)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  export RUNLEVEL=1; \
	  { apt-get install -y -qq --no-install-recommends $$need || { apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends $$need; }; } >/dev/null 2>&1 || true; \
	fi

clean:
	rm -rf $(VENV) build
