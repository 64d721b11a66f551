"""README and docs as programs: their fenced blocks in order, and how each is run."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
LANGUAGES = ("", "python", "toml", "yaml", "text", "mermaid")  # without a name: what a person types
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\w+\.(?:py|toml))\n")

#: Commands that need a network, a display, another machine or an hour: they are parsed, not run.
ONLY_PARSED = ("pip install", "pre-commit", "chromium", "pytest tests", "pytest-vla install", "--vla-suite=metaworld")
ONLY_PARSED += ("--vla-engine=ray", "env:octo", "my_smolvla", "python -m benchmarks")
ONLY_PARSED += ("ws://", "pytest-vla suites metaworld", "pytest-vla import", "outputs/train/")
PARSED_PYTHON = "# parsed only"  # how a block begins that takes a model and data of the reader's own
PRELUDE = "import pytest_vla as vla\nfrom test_reach import ReachSuite\n"


@dataclass(frozen=True)
class Block:
    language: str
    text: str

    @property
    def name(self):
        """The file that the first line says it is."""
        found = NAMED.match(self.text)
        return found[1] if found else None

    @property
    def commands(self):
        return [line.partition("  #")[0].strip() for line in self.text.splitlines() if line.strip()]


def blocks(page):
    return [Block(language, text) for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def shortened(command):
    """The same with fewer episodes, where a page shows a run of hundreds."""
    command = re.sub(r"(--vla-hunt-episodes)=\d+", r"\1=30", command)
    command = command.replace("--episodes=100 ", "--episodes=1 --task=rotate ").replace("-n auto", "-n 2")
    if "--vla-suite=vima" in command and "--vla-task" not in command:
        command += " --vla-task=rotate"
    if command.startswith("pytest --vla") and "--vla-hunt" not in command:
        command = re.sub(r" --vla-episodes=\d+", "", command) + " --vla-episodes=2"
    return command.replace("pytest-vla watch", "pytest-vla watch --once").replace("--port 8000", "--port 0")


def furnish(folder):
    """What the pages take for granted: the example suites, a checkpoint of ours, the policy of another page."""
    shutil.copy(REPOSITORY / "docs" / "examples" / "test_reach.py", folder)
    shutil.copytree(REPOSITORY / "docs" / "examples" / "workbench", folder / "workbench")
    shutil.copy(REPOSITORY / "fixtures" / "policies" / "vima_cross.pt", folder / "ckpt.pt")
    (folder / "fixtures").symlink_to(REPOSITORY / "fixtures")
    first = next(block for block in blocks(REPOSITORY / "docs" / "policies.md") if block.name == "my_policy.py")
    (folder / "my_policy.py").write_text(first.text)


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    environment = {"PATH": path, "PYTHONPATH": str(folder), **kept}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)


def run_page(page, folder):
    """Every block of a page, top to bottom; what failed, as text."""
    furnish(folder)
    code, failures = PRELUDE, []
    for block in blocks(page):
        if block.name is not None:
            (folder / block.name).write_text(block.text)
    for number, block in enumerate(blocks(page)):
        if block.name is not None:
            continue
        if block.language == "python" and not block.text.startswith(PARSED_PYTHON):
            whole = code + textwrap.dedent(block.text)
            failures += run_python(whole, block, number, folder)
            code = code if "def test_" in block.text else whole
        elif block.language == "toml" and "[tool.pytest_vla" in block.text and page.name == "gate.md":
            (folder / "pyproject.toml").write_text(block.text)
        elif block.language == "":
            failures += run_commands(block, folder)
    return failures


def run_python(code, block, number, folder):
    """A block with tests is a test file; any other is a program. What came before on the page is part of it."""
    file = folder / f"test_block_{number}.py"
    file.write_text(code)
    if "def test_" not in block.text:
        done = run(f"python {file.name}", folder)
        return [] if done.returncode == 0 else [f"{block.text}\n{done.stdout[-1500:]}{done.stderr[-1500:]}"]
    options = "--vla-policy=oracle --vla-episodes=1 --vla-hunt-scenes=1 --vla-hunt-episodes=3"
    hunting = "vla.hunt" in block.text
    done = run(f"pytest {file.name} {options.replace('--vla-episodes=1 ', '') if hunting else options}", folder)
    fine = done.returncode in (0, 1) and not re.search(r"\b[1-9]\d* (error|failed)", done.stdout)
    return [] if fine else [f"{block.text}\n{done.stdout[-3000:]}{done.stderr[-1500:]}"]


def run_commands(block, folder):
    failures = []
    for line in block.text.splitlines():
        command, _, code = line.partition("# exit ")
        command = command.partition("  #")[0].strip()
        if not command or any(part in command for part in ONLY_PARSED):
            continue
        if command.startswith("pytest-vla serve"):
            command = f"timeout 20 {command.replace('--port 8000', '')} --port 0; test $? = 124"
        done = run(shortened(command) if not code else command, folder)
        expected = [int(code)] if code else [0, 1] if command.startswith("pytest --") or "random" in command else [0]
        if done.returncode not in expected or re.search(r"\b[1-9]\d* errors", done.stdout):
            failures.append(f"$ {command}\nexit {done.returncode}\n{done.stdout[-2500:]}{done.stderr[-1500:]}")
    return failures
