#!/usr/bin/env bash
# One comment on the pull request: made the first time, found by its hidden first line and changed afterwards.
# A token that may not comment, as that of a fork, is a warning: the verdict stands, and the job's page has the table.
set -euo pipefail

body=$(mktemp)
trap 'rm -f "$body"' EXIT
arguments=("$RUN_DIR" "--name=$NAME" --trust) # the run is of this job
[ -z "$BASELINE" ] || arguments+=("--baseline=$BASELINE")
[ -z "$LINK" ] || arguments+=("--link=$LINK")
marker="<!-- pytest-vla $NAME -->"
if ! pytest-vla comment "${arguments[@]}" >"$body"; then
    printf '%s\n\n### vla: no verdict (exit %s)\n\nThe log of the job says why.\n' "$marker" "$CODE" >"$body"
fi

comments="repos/$REPOSITORY/issues/$PULL_REQUEST/comments"
first_lines='.[] | "\(.id) \(.body | split("\n")[0] | rtrimstr("\r"))"'
if ! found=$(gh api --paginate "$comments" --jq "$first_lines"); then
    echo "::warning::the comments of the pull request cannot be read: give the job 'pull-requests: write'"
    exit 0
fi
id=$(awk -v marker="$marker" '{ number = $1; sub(/^[^ ]* /, ""); if ($0 == marker) { print number; exit } }' <<<"$found")
if [ -n "$id" ]; then
    request=(--method PATCH "repos/$REPOSITORY/issues/comments/$id")
else
    request=(--method POST "$comments")
fi
gh api "${request[@]}" -F "body=@$body" --silent ||
    echo "::warning::the comment could not be written: give the job 'pull-requests: write'"
