#!/bin/sh
# `make bench`: micro-benchmarks, then the end-to-end table. Says where figures are not reached, and
# does not fail for it.
#
#   bench/run.sh [EVENTS [ROUNDS]]     10,000,000 events and 3 rounds unless given
#
# Needs about 1 GB in $TMPDIR (or /tmp) for 10,000,000 events. BUILD is the build directory.
set -eu
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin

if [ -x "$bin/bench_micro" ]; then
  "$bin/bench_micro" --benchmark_min_time=0.2
else
  echo "bench/run.sh: no micro-benchmarks: Google Benchmark (libbenchmark-dev) was missing" >&2
fi
"$bin/bench_locks"
exec "$bin/bench_table" "$bin" "$@"
