#!/usr/bin/env bash
# The page and the badge of the run, where there is one. A page that cannot be made is a warning: it is no verdict.
set -euo pipefail

if ! [ -f "$RUN_DIR/run.jsonl" ]; then
    echo "made=false" >>"$GITHUB_OUTPUT"
    exit 0
fi
runs=("$RUN_DIR")
[[ -z $BASELINE || $BASELINE == *.baseline ]] || runs+=("$BASELINE")
pytest-vla report "${runs[@]}" -o "$RUN_DIR/report.html" "--vla-video=$VIDEO" || echo "::warning::the page could not be made"
pytest-vla badge "$RUN_DIR" -o "$RUN_DIR/badge.svg" || echo "::warning::the badge could not be made"
echo "made=true" >>"$GITHUB_OUTPUT"
