"""Make requirements.lock again: every package of `pytest-vla[all]` by version and the hashes of the registry's files.

python .ci/lock.py            writes requirements.lock, as pip resolves it here under constraints.txt
pip install --require-hashes -r requirements.lock && pip install --no-deps .
"""

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
HEADER = "# Made by .ci/lock.py for Python {python} on {platform}, torch as constraints.txt says: its CPU build.\n"
INDEX = """# PyPI has no build by the name +cpu, PyTorch's own index has. What has another hash than below is refused.
--extra-index-url https://download.pytorch.org/whl/cpu
"""


def main() -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    asked = ["-c", str(REPOSITORY / "constraints.txt"), f"{REPOSITORY}[all]"]
    report = json.loads(subprocess.run([*command, *asked], check=True, capture_output=True, text=True).stdout)
    lines = []
    for package in report["install"]:
        name, version = package["metadata"]["name"], package["metadata"]["version"]
        hashes = package["download_info"].get("archive_info", {}).get("hashes", {})
        if name.lower() != "pytest-vla":
            lines.append(f"{name.lower()}=={version} --hash=sha256:{hashes['sha256']}")
    environment = report["environment"]
    header = HEADER.format(python=environment["python_version"], platform=environment["sys_platform"])
    index = INDEX if any("+cpu" in line for line in lines) else ""
    (REPOSITORY / "requirements.lock").write_text(header + index + "\n".join(sorted(lines)) + "\n")
    print(f"{len(lines)} packages")


if __name__ == "__main__":
    main()
