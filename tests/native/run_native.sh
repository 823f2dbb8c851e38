#!/bin/sh
# Builds and runs the C++ tests: optimised, then under ASan and UBSan; where clang is installed, also
# a minute of fuzzing of the GGUF reader.  Usage: tests/native/run_native.sh [BUILD_DIR]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/native}

configure() {
  name=$1
  shift
  cmake -S "$root/native" -B "$build/$name" -DKVQ_PYTHON=OFF -DKVQ_TESTS=ON "$@" >/dev/null
  cmake --build "$build/$name" -j 2 >/dev/null
}

configure release -DCMAKE_BUILD_TYPE=Release
"$build/release/kvq_tests"
configure sanitized -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKVQ_SANITIZE=address,undefined
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$build/sanitized/kvq_tests"

if command -v clang++ >/dev/null; then
  cmake -S "$root/native" -B "$build/fuzz" -DKVQ_PYTHON=OFF -DKVQ_FUZZ=ON \
    -DCMAKE_CXX_COMPILER=clang++ -DKVQ_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$build/fuzz" -j 2 --target fuzz_gguf >/dev/null
  mkdir -p "$build/corpus"
  "$build/release/kvq_tests" --seeds "$build/corpus"
  "$build/fuzz/fuzz_gguf" "$build/corpus" -max_total_time="${KVQ_FUZZ_SECONDS:-20}" -timeout=10 \
    -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
fi
