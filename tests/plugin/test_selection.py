"""What runs when no path is typed: the user's own files that speak of the suite, and suites that need no naming."""

import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
BROKEN = """
import pytest_vla as vla
import no_such_module


@vla.benchmark({name})
def test_it(policy, env, episode): ...
"""
AWAY = """
import pytest_vla as vla
from test_reach import ReachSuite


class Away(ReachSuite):
    name = "away"
    requires = (vla.Requirement("no_such_simulator", "pip install it"),)


@vla.benchmark(Away())
def test_away(policy, env, episode):
    assert vla.rollout(policy, env, episode)
"""


def collected(pytester, *arguments):
    result = pytester.runpytest_subprocess("--collect-only", "-qq", "--vla-policy=oracle", *arguments)
    return result, {line.partition(":")[0] for line in result.outlines if ".py" in line}


def test_variants_of_a_suite_run_only_when_named(pytester):
    _, files = collected(pytester)
    assert "suites/vima/test_vima.py" in files
    assert not {name for name in files if "strict" in name or "bullet" in name or "floating" in name}
    _, files = collected(pytester, "--vla-suite=vima_strict")
    assert files == {"suites/vima_strict/test_vima_strict.py"}


def test_only_files_that_speak_of_the_named_suite_are_imported(reach):
    (reach.path / "test_other.py").write_text(BROKEN.format(name='"bomb"'))
    result, files = collected(reach, "--vla-suite=reach")
    assert (result.ret, files) == (pytest.ExitCode.OK, {"test_reach.py"})
    result, _ = collected(reach)
    assert result.ret == pytest.ExitCode.INTERRUPTED, "without a name every file of one's own is asked"


def test_a_suite_of_another_module_is_found_without_its_name_in_the_test_file(reach):
    (reach.path / "test_reach.py").rename(reach.path / "reaching.py")
    (reach.path / "test_mine.py").write_text(
        "import pytest_vla as vla\nfrom reaching import ReachSuite\n\n\n"
        "@vla.benchmark(ReachSuite())\ndef test_mine(policy, env, episode): ...\n"
    )
    (reach.path / "conftest.py").write_text("import sys\nsys.path.insert(0, '.')\n")
    result, files = collected(reach, "--vla-suite=reach")
    assert (result.ret, files) == (pytest.ExitCode.OK, {"test_mine.py"}), result.outlines


def test_a_second_checkout_is_one_line_that_names_both_folders(reach):
    (reach.path / "pytest_vla").mkdir()
    shutil.copy(REPOSITORY / "pytest_vla" / "collection.py", reach.path / "pytest_vla")
    result = reach.runpytest_inprocess("--vla-policy=oracle")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.strip()]
    assert str(reach.path / "pytest_vla") in line
    assert str(REPOSITORY / "pytest_vla") in line


@pytest.mark.parametrize("workers", [[], ["-n1"]])
def test_a_suite_that_cannot_run_is_one_letter_and_one_line(reach, workers):
    (reach.path / "test_away.py").write_text(AWAY)
    result = reach.runpytest("--vla-policy=oracle", "--vla-episodes=2", "--vla-run-dir=run", *workers)
    result.assert_outcomes(passed=8, skipped=1)
    result.stdout.fnmatch_lines(["skipped 8: suite 'away' needs no_such_simulator: pip install it"])
    assert result.ret == pytest.ExitCode.OK
