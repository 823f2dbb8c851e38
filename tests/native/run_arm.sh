#!/bin/sh
# Cross-builds the native tests for 64-bit ARM and runs them as the CPUs of a Raspberry Pi 4 (A72:
# plain NEON), a Pi 5 (A76: dot products) and an older core (A53). A wrong instruction dies with 132.
# With KVQ_MODEL=FILE.gguf a short real generation must give the same tokens on every core.
#
# Needs g++-aarch64-linux-gnu and qemu-user.  Usage: tests/native/run_arm.sh [BUILD_DIR]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/aarch64}

for tool in aarch64-linux-gnu-g++ qemu-aarch64 cmake; do
  if ! command -v "$tool" >/dev/null; then
    echo "run_arm: $tool is missing (apt-get install g++-aarch64-linux-gnu qemu-user cmake)" >&2
    exit 3
  fi
done
cmake -S "$root/native" -B "$build" -DCMAKE_BUILD_TYPE=Release -DKVQ_PYTHON=OFF -DKVQ_TESTS=ON \
  -DCMAKE_TOOLCHAIN_FILE="$root/native/cmake/aarch64.cmake" >/dev/null
jobs=$(nproc 2>/dev/null || echo 2)
cmake --build "$build" --target kvq_tests kvq_generate -j "$jobs" >/dev/null

# The long ones first, as many at once as there are processors here: each emulation keeps one busy.
# An A53 runs the code of an A72, instruction for instruction; that it is chosen shows in one test.
runs="cortex-a76: cortex-a72: cortex-a53:batch"
# shellcheck disable=SC2086
printf '%s\n' $runs | xargs -P "$jobs" -I {} sh -c '
  cpu=${1%%:*} only=${1#*:}
  qemu-aarch64 -cpu "$cpu" "$2/kvq_tests" $only >"$2/$cpu.log" 2>&1 || echo "exit $?" >>"$2/$cpu.log"
' run {} "$build"
failed=0
for run in $runs; do
  cpu=${run%%:*}
  echo "== $cpu"
  cat "$build/$cpu.log"
  if grep -q '^exit ' "$build/$cpu.log"; then failed=1; fi
done
if [ "$failed" = 1 ]; then exit 1; fi
# A Pi 4's code must also be right on a Pi 5, and asking a Pi 4 for a Pi 5's must be refused.
KVQ_ISA=neon qemu-aarch64 -cpu cortex-a76 "$build/kvq_tests" batch
if KVQ_ISA=neon_dot qemu-aarch64 -cpu cortex-a72 "$build/kvq_tests" batch >/dev/null 2>&1; then
  echo "run_arm: a Pi 4 accepted neon_dot" >&2
  exit 1
fi

if [ -n "${KVQ_MODEL:-}" ]; then
  # "The capital of France is"
  prompt="504 3575 282 4649 314"
  expected=""
  for cpu in cortex-a76 cortex-a72; do
    # shellcheck disable=SC2086
    got=$(qemu-aarch64 -cpu "$cpu" "$build/kvq_generate" "$KVQ_MODEL" 1 12 $prompt)
    echo "$cpu: $got"
    if [ -n "$expected" ] && [ "$got" != "$expected" ]; then
      echo "run_arm: the cores disagree" >&2
      exit 1
    fi
    expected=$got
  done
fi
echo "ARM tests passed"
