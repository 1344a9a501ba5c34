#!/bin/sh
# `make results`: the papers' tables beside ours, into docs/results.md, a section for each paper.
#
# ONLY has the sections to write anew (aerodrome singletrack atomic-sets predictive
# enforce servers), BUILD is the build
# directory, OUT the file. EVENTS is the length of the longest AeroDrome trace, SIZE that of the
# SingleTrack programs; RUNS is how often the bugs of the atomic-sets programs are looked for, and
# those of the enforce kernels.
set -eu
cd "$(dirname "$0")/.."
bin=${BUILD:-build}/bin
out=${OUT:-docs/results.md}
for section in ${ONLY:-aerodrome singletrack atomic-sets predictive enforce}; do
  case $section in
    aerodrome) "$bin/bench_results" "$bin" "$out" "${EVENTS:-10000000}" "${ROUNDS:-3}" ;;
    predictive)
      "$bin/bench_predictive" "$bin" bench/programs/predictive "$out" "${EVENTS:-1000000}" \
        "${ROUNDS:-3}" ;;
    singletrack)
      "$bin/bench_singletrack" "$bin" bench/programs/singletrack "$out" "${SIZE:-medium}" \
        "${ROUNDS:-3}" ;;
    atomic-sets)
      "$bin/bench_atomic_sets" "$bin" bench/programs/atomic_sets "$out" full "${ROUNDS:-3}" \
        "${RUNS:-100}" ;;
    enforce)
      "$bin/bench_enforce" "$bin" bench/programs/enforce "$out" "${RUNS:-1000}" "${ROUNDS:-15}" ;;
    servers)
      tests/real/hardened_servers --syndrome "$bin/syndrome" --work "${BUILD:-build}/real" --results "$out" \
        --rounds "${ROUNDS:-5}" ;;
    *) echo "results.sh: no section $section: aerodrome, singletrack, atomic-sets, predictive, enforce or servers" >&2; exit 2 ;;
  esac
done
