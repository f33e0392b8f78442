#!/bin/sh
# A gate for CI: fails if the new run is slower than the baseline, or has a critical finding.
#
#     examples/ci_gate.sh tests/baseline now/run
#
# Runners of a CI system are different machines: CPU time and bytes depend on them less than wall time does.
set -eu
baseline=$1
now=$2
roast diagnose "$now" --fail-on critical
roast compare "$baseline" "$now" --fail-on "cpu>25%" --fail-on finding:reread_branches
echo "the gate is passed"
