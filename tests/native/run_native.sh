#!/bin/sh
# Builds and runs the C++ tests: optimised, then under ASan and UBSan; where clang is installed, also
# some seconds of fuzzing of the GGUF reader (KVQ_FUZZ_SECONDS, 20).
#
# Usage: tests/native/run_native.sh [BUILD_DIR]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/native}
jobs=$(nproc 2>/dev/null || echo 2)

for tool in cmake make c++; do
  if ! command -v "$tool" >/dev/null; then
    echo "run_native: $tool is missing (apt-get install g++ make cmake)" >&2
    exit 3
  fi
done

# configure NAME TARGET OPTION...: what is not needed for the target is not compiled.
configure() {
  name=$1
  target=$2
  shift 2
  cmake -S "$root/native" -B "$build/$name" -DKVQ_PYTHON=OFF "$@" >/dev/null
  cmake --build "$build/$name" --target "$target" -j "$jobs" >"$build/$name.log" 2>&1 || {
    cat "$build/$name.log" >&2
    exit 1
  }
}

configure release kvq_tests -DKVQ_TESTS=ON -DCMAKE_BUILD_TYPE=Release
"$build/release/kvq_tests"
configure sanitized kvq_tests -DKVQ_TESTS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DKVQ_SANITIZE=address,undefined
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$build/sanitized/kvq_tests"

if command -v clang++ >/dev/null; then
  configure fuzz fuzz_gguf -DKVQ_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ -DKVQ_SANITIZE=address,undefined \
    -DCMAKE_BUILD_TYPE=Release
  mkdir -p "$build/corpus"
  "$build/release/kvq_tests" --seeds "$build/corpus"
  "$build/fuzz/fuzz_gguf" "$build/corpus" -max_total_time="${KVQ_FUZZ_SECONDS:-20}" -timeout=300 \
    -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
fi
echo "native tests passed"
