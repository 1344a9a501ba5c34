#!/bin/sh
# `make results`: the papers' tables beside ours, into docs/results.md, a section for each paper.
#
# ONLY has the sections to write anew (aerodrome singletrack), BUILD is the build directory, OUT the
# file. EVENTS is the length of the longest AeroDrome trace, SIZE that of the SingleTrack programs.
set -eu
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin
out=${OUT:-docs/results.md}
for section in ${ONLY:-aerodrome singletrack}; do
  case $section in
    aerodrome) "$bin/bench_results" "$bin" "$out" "${EVENTS:-10000000}" "${ROUNDS:-3}" ;;
    predictive)
      "$bin/bench_predictive" "$bin" bench/programs/predictive "$out" "${EVENTS:-1000000}" \
        "${ROUNDS:-3}" ;;
    singletrack)
      "$bin/bench_singletrack" "$bin" bench/programs/singletrack "$out" "${SIZE:-medium}" \
        "${ROUNDS:-3}" ;;
    *) echo "results.sh: no section $section: aerodrome or singletrack" >&2; exit 2 ;;
  esac
done
