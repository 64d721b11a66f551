"""The GitHub Action: its file is valid, and its steps run in a shell, with a `gh` that writes down what it is asked."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

REPOSITORY = Path(__file__).parents[2]
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
WORKFLOWS = [*REPOSITORY.glob("docs/workflows/*.yml"), *REPOSITORY.glob(".github/workflows/*.yml")]
SCRIPTS = sorted((REPOSITORY / "action").glob("*.sh"))
MARKER = "<!-- pytest-vla vla-run -->"

# Lists the comments in comments.json, and does to them what it is asked; every call is a line of calls.jsonl.
FAKE_GH = """\
import json, os, pathlib, sys
words = sys.argv[1:]
assert words.pop(0) == "api" and os.environ["GH_TOKEN"] == "secret"
store, calls = pathlib.Path("comments.json"), pathlib.Path("calls.jsonl")
if os.environ.get("FORK") and "--method" in words:
    sys.exit("HTTP 403: Resource not accessible by integration")
comments = json.loads(store.read_text())
with calls.open("a") as file:
    file.write(json.dumps(words) + "\\n")
if "--jq" in words:
    assert words[:2] == ["--paginate", "repos/me/robot/issues/7/comments"], words
    for comment in comments:
        print(comment["id"], comment["body"].split("\\n")[0].removesuffix("\\r"))
else:
    method, address = words[1:3]
    (field,) = [word for word in words if word.startswith("body=@")]
    body = pathlib.Path(field.removeprefix("body=@")).read_text()
    if method == "POST":
        assert address == "repos/me/robot/issues/7/comments"
        comments.append({"id": 100 + len(comments), "body": body})
    else:
        (changed,) = [one for one in comments if address == f"repos/me/robot/issues/comments/{one['id']}"]
        changed["body"] = body
    store.write_text(json.dumps(comments))
"""


class Job:
    """A checkout of somebody's project on a runner; `steps` does what GitHub does with the action's shell steps."""

    def __init__(self, path):
        self.path = path / "project"
        self.action = path / "action"
        self.path.mkdir()
        for name in ("action.yml", "constraints.txt"):
            self.action.mkdir(exist_ok=True)
            shutil.copy(REPOSITORY / name, self.action)
        shutil.copytree(REPOSITORY / "action", self.action / "action")
        shutil.copy(REPOSITORY / "docs" / "examples" / "test_reach.py", self.path)
        programs = path / "programs"
        programs.mkdir()
        (programs / "gh").write_text(f"#!{sys.executable}\n{FAKE_GH}")
        (programs / "gh").chmod(0o755)
        self.comments = [{"id": 1, "body": "Nice work!\r\nThanks."}]
        self.environment = {
            "PATH": f"{programs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(path),
            "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:syrupy -p no:anyio -p no:cacheprovider",
            "GITHUB_ACTION_PATH": str(self.action),
            "GITHUB_ACTIONS": "true",
        }

    @property
    def comments(self):
        return json.loads((self.path / "comments.json").read_text())

    @comments.setter
    def comments(self, comments):
        (self.path / "comments.json").write_text(json.dumps(comments))

    def steps(self, inputs, **environment):
        """Run all but the installation; the exit code of the job, and what it printed."""
        given = {name: str(row.get("default", "")) for name, row in ACTION["inputs"].items()}
        known = {f"inputs.{name}": value for name, value in {**given, "token": "secret", **inputs}.items()}
        known |= {"github.repository": "me/robot", "github.event.pull_request.number": "7"}
        known["steps.artifact.outputs.artifact-url"] = ""
        printed = ""
        for number, step in enumerate(STEPS):
            if step.get("id") == "artifact" and holds(step["if"], known):
                known["steps.artifact.outputs.artifact-url"] = "https://github.com/me/robot/artifacts/5"
            if "run" not in step or step["name"] == "Install" or not holds(step.get("if", ""), known):
                continue
            output = self.path.parent / f"output-{number}"
            output.touch()
            done = self._run(step, known, {**environment, "GITHUB_OUTPUT": str(output)})
            printed += done.stdout + done.stderr
            if done.returncode:
                return done.returncode, printed
            for line in output.read_text().splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
            output.unlink()
        return 0, printed

    def _run(self, step, known, environment):
        def value(found):
            return known[found[1]]

        given = {name: re.sub(r"\$\{\{ (\S+) \}\}", value, text) for name, text in step["env"].items()}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        env = {**self.environment, **given, **environment}
        return subprocess.run(command, cwd=self.path, env=env, capture_output=True, text=True, timeout=300)


def holds(condition, known):
    """A condition of a step, as far as ours go: values that are there or equal a text, all of them."""
    for part in filter(None, condition.split(" && ")):
        name, _, wanted = part.partition(" == ")
        if known[name] != wanted.strip("'") if wanted else not known[name]:
            return False
    return True


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def rows(text):
    """The cells of a table's rows, from the terminal or from Markdown."""
    lines = [line.strip("| ").replace("*", "") for line in text.splitlines()]
    return [re.sub(r"\s*\|\s*|\s{2,}", "  ", line).strip() for line in lines if line.startswith("reach")]


def test_the_action_and_the_workflows_are_valid():
    check = shutil.which("check-jsonschema", path=Path(sys.executable).parent)
    if check is None:
        pytest.skip("needs check-jsonschema: pip install check-jsonschema")
    for schema, files in (("github-actions", [REPOSITORY / "action.yml"]), ("github-workflows", WORKFLOWS)):
        done = subprocess.run([check, "--builtin-schema", f"vendor.{schema}", *files], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_every_action_is_pinned_by_commit():
    for path in (REPOSITORY / "action.yml", *WORKFLOWS):
        used = set(re.findall(r"uses: (\S+)", path.read_text())) - {"OWNER/pytest-vla@COMMIT"}
        assert used
        pinned = r"(actions|pypa)/[\w-]+@[0-9a-f]{40}"
        assert [each for each in used if not re.fullmatch(pinned, each)] == [], path


def test_recipes_give_the_action_inputs_and_pytest_options_that_exist():
    from pytest_vla.options import OPTIONS

    recipes = 0
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                if step.get("uses", "").startswith("OWNER/pytest-vla@"):
                    recipes += 1
                    assert set(step["with"]) <= set(ACTION["inputs"]), path
                    assert set(re.findall(r"--vla-[a-z-]+", step["with"]["args"])) <= {each.flag for each in OPTIONS}
    assert recipes == 2


def test_no_input_is_ever_part_of_a_command():
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        for expression in re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", str(step)):
            assert expression in ACTION["inputs"]
    assert {step["run"].split("/")[-1].strip('"') for step in STEPS if "/action/" in step.get("run", "")} == {
        script.name for script in SCRIPTS
    }


def test_a_worse_policy_fails_the_job_and_the_comment_has_the_terminals_numbers_and_is_kept_up_to_date(job):
    own = {"episodes": "20", "workers": "0", "args": "test_reach.py", "run-dir": "main", "comment": "false"}
    code, output = job.steps({**own, "policy": "oracle"})
    assert code == 0, output
    assert [each["id"] for each in job.comments] == [1]

    pull = {**own, "baseline": "main", "run-dir": "vla run", "comment": "true"}
    code, output = job.steps({**pull, "policy": "random"})
    assert code == 1, output
    other, made = job.comments
    assert other["body"].startswith("Nice work!")
    assert made["body"].startswith(f"{MARKER}\n\n### vla gate: FAIL (exit 1): reach/far/calm")
    assert "[The page of this run](https://github.com/me/robot/artifacts/5)" in made["body"]
    assert "Flips against the baseline: 78 lost, 0 gained" in made["body"]
    assert len(rows(output)) == 4 + 2 + 4
    assert sorted(set(rows(made["body"]))) == sorted(set(rows(output)))
    assert (job.path / "vla run" / "report.html").stat().st_size > 10_000
    assert "fail" in (job.path / "vla run" / "badge.svg").read_text()

    shutil.rmtree(job.path / "vla run")
    code, output = job.steps({**pull, "policy": "oracle", "args": "test_reach.py -k 'near and calm'"})
    assert code == 6, output  # 20 episodes do not prove a margin of 10 points
    assert [each["id"] for each in job.comments] == [1, made["id"]]
    assert job.comments[1]["body"].startswith(f"{MARKER}\n\n### vla gate: UNDECIDED (exit 6)")


def test_a_run_that_never_began_says_so_in_the_comment_and_fails(job):
    code, output = job.steps({"policy": "nothing.pt", "args": "test_reach.py", "workers": "0"})
    assert code == 4, output
    assert job.comments[-1]["body"].startswith(f"{MARKER}\n\n### vla: no verdict (exit 4)")


def test_a_token_that_may_not_comment_is_a_warning_and_the_verdict_stands(job):
    inputs = {"policy": "oracle", "args": "test_reach.py", "workers": "0", "episodes": "1"}
    code, output = job.steps(inputs, FORK="1")
    assert (code, len(job.comments)) == (0, 1), output
    assert "::warning::the comment could not be written: give the job 'pull-requests: write'" in output


def test_arguments_are_split_as_a_shell_does_and_never_run(job):
    inputs = {"policy": "oracle", "workers": "0", "episodes": "1", "comment": "false"}
    code, output = job.steps({**inputs, "args": "test_reach.py $(touch hacked) `touch hacked`; touch hacked"})
    assert code == 4, output
    assert not (job.path / "hacked").exists()


@pytest.mark.slow
def test_the_installation_takes_the_checkout_of_the_action_and_the_callers_requirements(job):
    for name in ("pytest_vla", "suites"):
        shutil.copytree(REPOSITORY / name, job.action / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, job.action)
    (job.path / "needs.txt").write_text("pytest\n")
    (install,) = [step for step in STEPS if step.get("name") == "Install"]
    only_planned = {"PIP_DRY_RUN": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    asked = {"inputs.extras": "report,gate", "inputs.index": "", "inputs.requirements": "needs.txt"}
    done = job._run(install, asked, only_planned)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Would install pytest-vla-" in done.stdout
    assert "Requirement already satisfied: pytest" in done.stdout
