#!/bin/sh
# `make results`: the AeroDrome paper's Tables 1 and 2 beside ours, into docs/results.md.
#
#   bench/results.sh [EVENTS [ROUNDS]]     10,000,000 events at most and 3 rounds unless given
#
# BUILD is the build directory, OUT the file to write.
set -eu
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin
exec "$bin/bench_results" "$bin" "${OUT:-docs/results.md}" "$@"
