"""Bad input gets one clear message, a stable exit code, and loses nothing."""

import os
import pickle
import stat

import pytest

USAGE = pytest.ExitCode.USAGE_ERROR
FAILED = pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vla-policy=oracl"], "*unknown policy 'oracl'; did you mean 'oracle'?*"),
        (["--vla-policy=model.onnx"], "*no policy can be made of 'model.onnx'*"),
        (["--vla-policy=missing.pt"], "*there is no checkpoint 'missing.pt'*"),
        (["--vla-policy=nowhere:make"], "*cannot import module 'nowhere'*"),
        (["--vla-policy=bad:nothing"], "*module 'bad' has no 'nothing'*"),
        (["--vla-policy=bad:broken_factory"], "*raised RuntimeError: no weights today*"),
        (["--vla-policy=bad:not_a_policy"], "*returned int, which has no act*"),
        (["--vla-policy=oracle", "--vla-episodes=many"], "*--vla-episodes must be a whole number*'many'*"),
        (["--vla-policy=oracle", "--vla-episodes=-1"], "*--vla-episodes must be a whole number*"),
        (["--vla-policy=oracle", "--vla-timeout=soon"], "*--vla-timeout must be a number of seconds*"),
        (["--vla-policy=oracle", "--vla-task=near,"], "*--vla-task must be names separated by commas*"),
        (["--vla-policy=oracle", "--vla-resume"], "*nothing to resume*--vla-run-dir*"),
    ],
)
def test_a_bad_option_is_a_usage_error(reach, arguments, message):
    result = reach.runpytest("test_reach.py", *arguments)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str()


def test_a_suite_without_a_policy_is_a_usage_error(pytester):
    result = pytester.runpytest("--vla-suite=vima")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*add --vla-policy=SPEC*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vla-suite=vmia"], "*unknown suite 'vmia'; did you mean 'vima'*"),
        (["--vla-suite=vima", "--vla-task=rotat"], "*unknown task 'rotat' in vima; did you mean 'rotate'*"),
        (["--vla-suite=vima", "--vla-partition=novel_task"], "*did you mean 'novel_task_generalization'*"),
    ],
)
def test_an_unknown_name_is_a_usage_error_that_suggests_the_nearest(pytester, arguments, message):
    result = pytester.runpytest("--vla-policy=oracle", *arguments)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--vla-task=nea", "*unknown task 'nea' in reach; did you mean 'near'*"),
        ("--vla-partition=cal", "*unknown partition 'cal' in reach; did you mean 'calm'*"),
        ("--vla-suite=reech", "*unknown suite 'reech'; did you mean 'reach'*"),
    ],
)
def test_an_unknown_name_in_ones_own_suite_is_a_usage_error_too(reach, workers, argument, message):
    result = reach.runpytest("test_reach.py", "--vla-policy=oracle", argument, *workers)
    assert result.ret == USAGE
    (result.stdout if workers else result.stderr).fnmatch_lines([message])


@pytest.mark.parametrize(
    ("policy", "reason", "message"),
    [
        ("WrongShape", "policy_error", "must have shape (2,), got shape (7,)"),
        ("Nan", "policy_error", "must be finite"),
        ("Raises", "policy_error", "the model fell over"),
        ("TooFew", "policy_error", "got 1 observation and returned 0 actions"),
        ("Hangs", "timeout", "no result within 1 s"),
    ],
)
def test_a_policy_that_breaks_its_contract_is_an_error_with_a_reason(reach, read_episodes, policy, reason, message):
    result = reach.runpytest(
        f"--vla-policy=bad:{policy}", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=2",
        "--vla-timeout=1", "--vla-run-dir=run",
    )  # fmt: skip
    assert result.ret == FAILED
    episodes = read_episodes(reach.path / "run")
    assert len(episodes) == 2
    assert {(r["outcome"], r["reason"]) for r in episodes.values()} == {("error", reason)}
    assert all(message in r["message"] for r in episodes.values())
    result.stdout.fnmatch_lines([f"*errors: 2 {reason}*"])


def test_errors_up_to_the_allowed_number_do_not_fail_the_run(reach):
    reach.makeconftest(
        "import test_reach\n\n"
        "reset = test_reach.ReachEnv.reset\n"
        "def falls_over(self, *, seed=None, options=None):\n"
        "    assert options['episode'].index < 2, 'it fell over'\n"
        "    return reset(self, seed=seed, options=options)\n"
        "test_reach.ReachEnv.reset = falls_over\n"
    )
    arguments = ["--vla-policy=oracle", "--vla-task=near", "--vla-partition=calm", "--vla-episodes=4"]
    assert reach.runpytest(*arguments, "--vla-max-errors=2").ret == pytest.ExitCode.OK
    assert reach.runpytest(*arguments, "--vla-max-errors=1").ret == FAILED


def test_a_policy_that_does_not_fit_a_named_suite_is_a_usage_error(reach):
    reach.makeconftest("from test_reach import ReachSuite\nimport pytest_vla as vla\nvla.register(ReachSuite())")
    result = reach.runpytest("test_reach.py", "--vla-policy=bad:NeedsACamera", "--vla-suite=reach")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*cannot act in suite 'reach': the policy needs camera 'wrist'*"])


def test_a_policy_that_does_not_fit_skips_the_suites_nobody_named(reach):
    result = reach.runpytest("test_reach.py", "--vla-policy=bad:NeedsACamera")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["skipped 40: suite 'reach' does not fit: the policy needs camera 'wrist'*"])


def test_a_suite_without_its_dependency_is_skipped_with_the_install_command(reach):
    reach.makepyfile(
        test_needy="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        class Needy(ReachSuite):
            name = "needy"
            requires = [vla.Requirement("no_such_simulator", 'pip install "pytest-vla[none]"')]

        @vla.benchmark(Needy(), episodes=1)
        def test_needy(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    result = reach.runpytest("test_needy.py", "--vla-policy=oracle")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*suite 'needy' needs no_such_simulator: pip install \"pytest-vla?none?\"*"])


def test_an_environment_that_raises_is_an_env_error_and_the_next_episode_gets_a_new_one(reach, read_episodes):
    reach.makepyfile(
        test_fragile="""
        import pytest_vla as vla
        from test_reach import ReachEnv, ReachSuite

        class FragileEnv(ReachEnv):
            broken = False
            def reset(self, *, seed=None, options=None):
                self.broken = self.broken or options["episode"].index == 1
                assert not self.broken, "the simulator is gone"
                return super().reset(seed=seed, options=options)

        class Fragile(ReachSuite):
            name = "fragile"
            def make_env(self, task):
                return FragileEnv()

        @vla.benchmark(Fragile(), task="near", partition="calm", episodes=4)
        def test_fragile(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    reach.runpytest("test_fragile.py", "--vla-policy=oracle", "--vla-run-dir=run")
    episodes = read_episodes(reach.path / "run")
    assert [r["outcome"] for r in episodes.values()] == ["solved", "error", "solved", "solved"]
    assert episodes["fragile/near-calm-01"]["reason"] == "env_error"
    assert "the simulator is gone" in episodes["fragile/near-calm-01"]["message"]


def test_an_environment_that_cannot_be_made_is_an_env_error(reach, read_episodes):
    reach.makepyfile(
        test_unborn="""
        import pytest_vla as vla
        from test_reach import ReachSuite

        class Unborn(ReachSuite):
            name = "unborn"
            def make_env(self, task):
                raise OSError("no display")

        @vla.benchmark(Unborn(), task="near", partition="calm", episodes=1)
        def test_unborn(policy, env, episode):
            assert vla.rollout(policy, env, episode)
        """
    )
    result = reach.runpytest("test_unborn.py", "--vla-policy=oracle", "--vla-run-dir=run")
    assert result.ret == FAILED
    (record,) = read_episodes(reach.path / "run").values()
    assert (record["outcome"], record["reason"]) == ("error", "env_error")
    assert "no display" in record["message"]


def test_an_unwritable_run_dir_is_a_usage_error(reach):
    (reach.path / "taken").write_text("a file, not a folder")
    result = reach.runpytest("test_reach.py", "--vla-policy=oracle", "--vla-run-dir=taken/run")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*cannot write the run file 'taken/run/run.jsonl'*"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_run_dir_is_a_usage_error(reach):
    folder = reach.mkdir("locked")
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    result = reach.runpytest("test_reach.py", "--vla-policy=oracle", "--vla-run-dir=locked")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*cannot write the run file*Permission denied*"])


def test_an_existing_run_is_never_overwritten(reach):
    arguments = ["--vla-policy=oracle", "--vla-episodes=1", "--vla-run-dir=run"]
    assert reach.runpytest(*arguments).ret == pytest.ExitCode.OK
    before = (reach.path / "run" / "run.jsonl").read_bytes()
    result = reach.runpytest(*arguments)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*exists already: add --vla-resume*"])
    assert (reach.path / "run" / "run.jsonl").read_bytes() == before


def test_unknown_keys_of_the_pyproject_table_are_usage_errors(reach):
    reach.makepyprojecttoml("[tool.pytest_vla]\nepisode = 3\n")
    result = reach.runpytest("--vla-policy=oracle")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*unknown option 'episode'*did you mean 'episodes'*"])


def test_the_pyproject_table_gives_defaults_that_the_command_line_overrides(reach):
    reach.makepyprojecttoml('[tool.pytest_vla]\npolicy = "oracle"\nepisodes = 2\ntask = ["near"]\n')
    reach.runpytest().stdout.fnmatch_lines(["*4 of 4 episodes solved*"])
    reach.runpytest("--vla-episodes=1", "--vla-policy=noop").stdout.fnmatch_lines(["*0 of 2 episodes solved*"])


class Boom:
    """Unpickled, it would leave a file behind."""

    def __reduce__(self):
        return (os.system, ("touch code_was_run",))


@pytest.mark.parametrize("content", ["pickle", "torch", "truncated", "not_ours", "evil_class"])
def test_a_bad_checkpoint_is_refused_and_runs_no_code(torch, reach, content):
    path = reach.path / "policy.pt"
    good = {"policy": "bad:Raises", "config": {}, "state_dict": {"w": torch.zeros(1000)}, "spec": {}}
    if content == "pickle":
        path.write_bytes(pickle.dumps(Boom()))
    elif content == "torch":
        torch.save({**good, "config": {"x": Boom()}}, path)
    elif content == "truncated":
        torch.save(good, path)
        path.write_bytes(path.read_bytes()[:-1000])
    elif content == "not_ours":
        torch.save({"model": torch.zeros(3)}, path)
    elif content == "evil_class":
        torch.save({**good, "policy": "os:system", "config": {"command": "touch code_was_run"}}, path)
    result = reach.runpytest("test_reach.py", "--vla-policy=policy.pt")
    assert result.ret == USAGE
    assert not (reach.path / "code_was_run").exists()
    expected = {
        "pickle": "*checkpoint 'policy.pt' was refused*",
        "torch": "*checkpoint 'policy.pt' was refused*",
        "truncated": "*checkpoint 'policy.pt' is damaged or truncated*",
        "not_ours": "*is not a pytest-vla checkpoint*",
        "evil_class": "*names the class 'os:system', whose module 'os' * would run*--vla-trust-policy=os",
    }[content]
    result.stderr.fnmatch_lines([expected])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_equal_errors_are_shown_once_and_a_run_of_nothing_else_is_given_up(reach, workers):
    result = reach.runpytest("--vla-policy=bad:Raises", "--vla-episodes=100", "--vla-run-dir=run", *workers)
    assert result.ret == FAILED
    told = result.stdout.str()
    assert told.count("Traceback (most recent call last)") <= 2  # in CI pytest's short summary is not short
    assert "the first 20 episodes ended in errors and nothing was measured" in told
    result.stdout.re_match_lines(
        [r"  \d+ x RuntimeError: the model fell over", r"    pytest-vla replay .*near-calm-\d+"]
    )
    assert len(result.outlines) < 80


def test_nothing_but_errors_is_never_a_pass_whatever_is_allowed(reach):
    result = reach.runpytest("--vla-policy=bad:Raises", "--vla-episodes=1", "--vla-max-errors=100")
    assert result.ret == FAILED


def test_a_device_that_is_not_there_is_one_line(reach, torch):
    (reach.path / "moving.py").write_text(
        "import torch\nimport pytest_vla as vla\n\n\n"
        "class Moving(torch.nn.Linear, vla.Policy):\n"
        "    def __init__(self):\n        super().__init__(1, 1)\n"
    )
    for workers in ([], ["-n1"]):
        result = reach.runpytest("--vla-policy=moving:Moving", "--vla-device=foo", *workers)
        assert result.ret == USAGE
        assert "--vla-device=foo: the policy cannot be moved there" in result.stderr.str()
        assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "n1"])
def test_a_suite_without_an_oracle_refuses_it_in_one_line(reach, workers):
    text = (reach.path / "test_reach.py").read_text()
    (reach.path / "test_reach.py").write_text(text.replace("def oracle(", "def solution("))
    result = reach.runpytest("--vla-policy=oracle", *workers)
    assert result.ret == USAGE
    assert "suite 'reach' has no oracle; choose another --vla-policy" in result.stderr.str() + result.stdout.str()
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--vla-suite=vima", "--vla-task=rotate", "--vla-partition=novel_task_generalization"],
            "no such task in --vla-partition=novel_task_generalization; there is rotate in train, rotate in placement",
        ),
        (["--vla-suite=vima", "test_reach.py"], "--vla-suite=vima: the files that were collected are about 'reach'"),
    ],
)
def test_names_that_have_nothing_in_common_say_what_there_is(reach, arguments, message):
    result = reach.runpytest("--vla-policy=noop", *arguments)
    assert result.ret == USAGE
    assert message in result.stderr.str()


def test_options_that_change_nothing_are_said_to_be_ignored(reach):
    result = reach.runpytest("--vla-policy=oracle", "--vla-device=cuda", "--vla-episodes=1", "--vla-task=near")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["vla: --vla-device is ignored: policy 'oracle' is no model"])


def test_loading_a_policy_is_announced(reach):
    result = reach.runpytest("--vla-policy=bad:TooFew", "--vla-episodes=1", "--vla-task=near")
    result.stdout.fnmatch_lines(["vla: loading policy bad:TooFew ..."])
