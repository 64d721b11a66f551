"""Draw docs/terminal.svg: the terminal of a real run, recorded now. `python docs/make_terminal.py`"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

TYPED = (
    "pytest --vla-policy=oracle --vla-suite=vima "
    "--vla-task=visual_manipulation,rotate,sweep_without_exceeding,follow_order --vla-episodes=5 -n 2"
)
COLUMNS = 104


def main() -> None:
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        command = TYPED + " --color=yes -p no:cacheprovider --vla-run-dir=runs/oracle"
        result = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
        output = result.stdout.replace(folder, "~/robot")
    output = re.sub(r"^plugins: .*\n", "", output, flags=re.MULTILINE)
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text.from_ansi(f"$ {TYPED}\n{output}"))
    console.save_svg(str(Path(__file__).parent / "terminal.svg"), title="pytest-vla")


if __name__ == "__main__":
    main()
