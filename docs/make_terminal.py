"""Draw docs/terminal.svg: the README's main job in a terminal, recorded now. `python docs/make_terminal.py`"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
TYPED = "pytest --vla-suite=vima --vla-policy=fixtures/policies/vima_cross.pt --vla-gate -n auto"
COLUMNS = 116
ROWS = 6  # of the 42 cells; the picture says that it leaves the others out


def main() -> None:
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        command = f"{TYPED} --color=yes -p no:cacheprovider --vla-run-dir={folder}/run"
        result = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True)
        output = result.stdout.replace(f"{folder}/run", "vla-runs/today").replace(str(ROOT), "~/pytest-vla")
    output = re.sub(r"^(plugins|configfile|testpaths): .*\n", "", output, flags=re.MULTILINE)
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text.from_ansi(f"$ {TYPED}\n{shortened(output)}"))
    console.save_svg(str(ROOT / "docs" / "terminal.svg"), title="pytest-vla")


def shortened(output: str) -> str:
    """The output with the first rows of the table of cells only."""
    lines = output.splitlines()
    cells = [number for number, line in enumerate(lines) if re.match(r"vima/\w+ +\w+ +[\d.]+%", line)]
    left_out = cells[ROWS:]
    if left_out:
        lines[left_out[0] : left_out[-1] + 1] = [f"... {len(left_out)} more rows"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
