"""A run file is data: what it names is imported, opened or called only where a person says so."""

import json
import shutil
import sys

import pytest

from pytest_vla.cli import main
from pytest_vla.report.html.hunts import _picture

POLICY = "import numpy as np\nimport pytest_vla as vla\n\nprint('THE POLICY RAN')\n\n\nclass Still(vla.Policy):\n"
POLICY += "    def act(self, observations, states):\n        return [np.zeros(2) for _ in observations]\n"


@pytest.fixture
def made(reach):
    """A run of a policy of somebody's own in a suite of their own test file."""
    (reach.path / "still.py").write_text(POLICY)
    reach.runpytest("--vla-policy=still:Still", "--vla-episodes=1", "--vla-task=near", "--vla-run-dir=run")
    return reach


def command(project, *words):
    result = project.run(sys.executable, "-m", "pytest_vla.cli", *words)
    return result.ret, result.stdout.str() + result.stderr.str()


def test_replay_imports_neither_the_policy_nor_the_test_file_unasked(made):
    (made.path / "test_reach.py").write_text("print('THE FILE RAN')\n" + (made.path / "test_reach.py").read_text())
    code, told = command(made, "replay", "run", "near-calm-00")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "RAN" not in told
    code, told = command(made, "replay", "run", "near-calm-00", "--policy=noop")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "RAN" not in told
    assert "the run file asks to import 'test_reach.py', which has the suite 'reach'" in told
    assert "--trust" in told
    code, told = command(made, "replay", "run", "near-calm-00", "--trust")
    assert code == 0
    assert "THE FILE RAN" in told
    assert "THE POLICY RAN" in told


def test_a_policy_that_is_typed_is_consent_and_a_recorded_one_is_not(made):
    suite = "import pytest_vla as vla\nfrom test_reach import ReachSuite\nvla.register(ReachSuite())\n"
    (made.path / "known.py").write_text(
        suite + "from pytest_vla.cli import main\nimport sys\nsys.exit(main(sys.argv[1:]))"
    )
    refused = made.run(sys.executable, "known.py", "replay", "run", "near-calm-00")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*asks to use the policy 'still:Still': add --vla-policy=still:Still, or --trust*"])
    assert "RAN" not in refused.stdout.str()
    assert made.run(sys.executable, "known.py", "replay", "run", "near-calm-00", "--policy=still:Still").ret == 0


def test_the_command_that_a_run_prints_works_as_printed(made):
    result = made.runpytest("--vla-policy=still:Still", "--vla-episodes=1", "--vla-task=near")
    (line,) = [line for line in result.outlines if line.startswith("replay the first unsolved episode: ")]
    words = line.partition("pytest-vla ")[2].split()
    assert command(made, *words)[0] == 0


def test_a_report_of_an_untrusted_run_runs_nothing_of_it(made):
    pytest.importorskip("jinja2")
    code, told = command(made, "report", "run", "-o", "page.html", "--video=all")
    assert code == 0
    assert "RAN" not in told
    assert "no film" in (made.path / "page.html").read_text() + "".join(
        path.read_text() for path in made.path.glob("page_media/*.json")
    )


def test_a_suite_that_is_made_of_a_name_is_not_made_for_a_data_file(made, capsys, monkeypatch):
    monkeypatch.chdir(made.path)
    (made.path / "evil.py").write_text("raise SystemExit('EVIL RAN')")
    lines = (made.path / "run" / "run.jsonl").read_text().replace('"suite": "reach"', '"suite": "vla_eval:evil:Evil"')
    (made.path / "evil.jsonl").write_text(lines)
    for words in (["show", "evil.jsonl"], ["report", "evil.jsonl", "-o", "evil.html", "--video=none"]):
        assert main(words) == 0
    assert main(["replay", "evil.jsonl", "near-calm-00", "--policy=noop"]) == pytest.ExitCode.USAGE_ERROR
    output = capsys.readouterr()
    assert "EVIL RAN" not in output.out + output.err
    assert "asks to make the suite 'vla_eval:evil:Evil'" in output.err


def test_a_picture_is_taken_from_the_run_folder_only(tmp_path):
    run, secret = tmp_path / "run", tmp_path / "secret.png"
    (run / "hunts").mkdir(parents=True)
    secret.write_bytes(b"secret")
    (run / "hunts" / "find.png").write_bytes(b"find")
    (run / "link.png").symlink_to(secret)
    shutil.copy(secret, run / "hunts" / "find.txt")
    assert _picture("hunts/find.png", run).endswith("ZmluZA==")
    assert _picture("elsewhere/hunts/find.png", run).endswith("ZmluZA==")
    for name in ("", str(secret), "../secret.png", "link.png", "hunts/find.txt", "hunts"):
        assert _picture(name, run) == ""


def test_a_gate_opens_no_baseline_that_only_the_run_file_names(made):
    made.runpytest("--vla-policy=oracle", "--vla-episodes=2", "--vla-task=near", "--vla-run-dir=base")
    made.runpytest(
        "--vla-policy=oracle", "--vla-episodes=2", "--vla-task=near", "--vla-run-dir=new", "--vla-baseline=base"
    )
    provenance = json.loads((made.path / "new" / "run.jsonl").read_text().splitlines()[0])
    assert provenance["options"]["baseline"] == "base"
    code, told = command(made, "gate", "new")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "judged against the baseline 'base': add --baseline=base, or --trust" in told
    assert command(made, "gate", "new", "--baseline=base") == command(made, "gate", "new", "--trust")
