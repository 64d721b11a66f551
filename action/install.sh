#!/usr/bin/env bash
# Install pytest-vla as it is beside this script, in the versions that its tests ran with, and what the caller asks for.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

python -m pip install -c "$here/constraints.txt" ${INDEX:+--extra-index-url "$INDEX"} "$here[$EXTRAS]"
if [ -n "$REQUIREMENTS" ]; then
    python -m pip install -r "$REQUIREMENTS"
fi
