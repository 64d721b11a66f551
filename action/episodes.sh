#!/usr/bin/env bash
# Run the episodes and keep pytest's exit code, which is the verdict, for the last step: the page and the comment come
# before it.
set -euo pipefail

arguments=("--vla-policy=$POLICY" "--vla-run-dir=$RUN_DIR" -n "$WORKERS")
[ -z "$SUITE" ] || arguments+=("--vla-suite=$SUITE")
[ -z "$EPISODES" ] || arguments+=("--vla-episodes=$EPISODES")
[ -z "$BASELINE" ] || arguments+=("--vla-baseline=$BASELINE")
if [ -n "$ARGS" ]; then
    words=$(xargs -n 1 printf '%s\n' <<<"$ARGS") # the shell's quotes, and nothing else of the shell
    mapfile -t more <<<"$words"
    arguments+=("${more[@]}")
fi

code=0
python -m pytest "${arguments[@]}" || code=$?
echo "code=$code" >>"$GITHUB_OUTPUT"
