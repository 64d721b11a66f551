"""The doctor names what is wrong in the wiring, with its cure, and finds nothing on policies that are only bad."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import pytest_vla as vla
from benchmarks.doctor import examined, fits, source_of
from benchmarks.doctor_plants import Case, Draws, Miswired, Planner, RowZero, Scatter
from benchmarks.reach_suite import Reach
from pytest_vla.cli import main
from pytest_vla.doctor.checks import check
from pytest_vla.doctor.examine import Doctor
from pytest_vla.doctor.trials import FALSE_ALARMS, Played, Trials, p_value

SLOW_ENOUGH = 60  # episodes

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def suites(monkeypatch):
    monkeypatch.setattr("pytest_vla.registry._registered", {})
    vla.register(Reach())
    vla.register(Reach("reach_sliding", sliding=True))


def flipped(action):
    return np.array([*action[:3], 1 - action[3]], np.float32)


def centimetres(action):
    return np.array([*(100 * action[:3]), action[3]], np.float32)


def upside_down(seen):
    return {**seen, "images": {name: np.asarray(image)[::-1] for name, image in seen["images"].items()}}


@pytest.mark.parametrize(
    ("make", "cure"),
    [
        (lambda: Miswired(Planner(), do=flipped), {"gripper": -1}),
        (lambda: Miswired(Planner(), do=centimetres), {"scale": 0.01}),
        (lambda: Miswired(Planner(), see=upside_down), {"turn": "vertical"}),
        (lambda: Miswired(Planner(), see=upside_down, do=flipped), {"turn": "vertical", "gripper": -1}),
    ],
    ids=["gripper", "scale", "turn", "turn and gripper"],
)
def test_a_planted_fault_is_named_with_its_cure_and_numbers(make, cure):
    made = examined(Case(make, "reach", cure))
    (finding,) = made.findings
    assert fits(finding.config, cure)
    assert int(finding.before.split()[0]) <= 2
    assert "agreement with demonstrations" in finding.evidence
    assert all(f"{name} = " in finding.cure for name in cure)
    assert made.episodes <= SLOW_ENOUGH


def test_a_policy_that_acts_before_the_scene_has_settled_is_told_to_wait():
    made = examined(Case(Planner, "reach_sliding"))
    assert [set(finding.config) for finding in made.findings] == [{"wait"}]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Planner, "nothing wrong in the wiring: solved 4 of 4"),
        (Scatter, "nothing found in the wiring: solved 0 of 12"),
        (lambda: "random", "nothing found in the wiring: solved 0 of 4"),
        (lambda: "noop", "nothing found in the wiring: solved 0 of 4"),
    ],
    ids=["planner", "scatter", "random", "noop"],
)
def test_nothing_is_found_where_the_wiring_is_right(policy, said):
    made = examined(Case(policy, "reach"))
    assert made.healthy
    assert said in made.verdict
    assert made.episodes <= SLOW_ENOUGH


def test_a_policy_that_never_does_what_was_demonstrated_is_told_what_came_nearest():
    *_, remark = examined(Case(Scatter, "reach")).remarks
    assert re.match(r"\d+ changes were tried on recorded observations.*; the best, `.+`, has an agreement of ", remark)
    assert "so looks a policy that was not trained for these tasks" in remark


class Remembers(Miswired):
    """Never begins anew."""

    calls = 0

    def act(self, observations, states):
        self.calls += 1
        return [action + 0.001 * self.calls for action in self.policy.act(observations, states)]


class Stateless(Planner):
    def reset(self, episode):
        return None

    def act(self, observations, states):
        return [self._plan(observation)[0] for observation in observations]


class Blind(Stateless):
    def act(self, observations, states):
        return [np.append(observation["state"]["ee"][:3], 1).astype(np.float32) for observation in observations]


class Broken(Stateless):
    def act(self, observations, states):
        return [np.full(4, np.nan, np.float32) for _ in observations]


def test_actions_that_the_suite_cannot_take_are_a_finding():
    made = examined(Case(lambda: Miswired(Planner(), do=lambda action: action[:3]), "reach"))
    (finding,) = made.findings
    assert finding.fault == "no episode can be played: action must have shape (4,), got shape (3,)"
    assert finding.before == "12 of 12 episodes end by policy_error"


def test_actions_far_outside_the_space_are_told_with_the_number_that_is():
    def thrown(action):
        return np.array([*action[:3], 50], np.float32)

    remarks = examined(Case(lambda: Miswired(Planner(), do=thrown), "reach")).remarks
    assert [remark for remark in remarks if "outside" in remark] == [
        "100 % of its actions are outside the space: number 4 of 4 goes from 50 to 50, and may from 0 to 1"
    ]


class Slow(Planner):
    def act(self, observations, states):
        time.sleep(0.15)
        return super().act(observations, states)


def test_a_policy_that_a_robot_would_wait_for_is_told_so():
    (late,) = [each for each in examined(Case(Slow, "reach")).remarks if "late" in each]
    assert late.startswith("it is late: 6.")
    assert "the robot takes 10;" in late
    assert not [each for each in examined(Case(Planner, "reach")).remarks if "late" in each]


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (lambda: RowZero(Stateless()), "row0_instruction"),
        (lambda: Remembers(Stateless()), "state_in_self"),
        (lambda: Draws(Stateless()), "global_generator"),
        (Blind, "blind"),
        (Broken, "broken"),
        (Stateless, None),
    ],
    ids=["row 0", "remembers", "draws", "blind", "broken", "right"],
)
def test_what_must_hold_of_any_policy_is_asked_without_a_simulator(policy, name):
    source = source_of(policy())
    recorded, _ = Doctor(source, vla.get_suite("reach"))._record()
    made = check(source.policy, recorded, lambda rows: None)
    assert [finding.name for finding in made.findings] == ([name] if name else [])


def test_a_batch_norm_in_training_mode_is_called_by_its_name(torch):
    class Normed(torch.nn.Module, vla.Policy):
        spec = vla.PolicySpec(cameras=("main",))

        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)

        def act(self, observations, states):
            means = np.stack([np.asarray(o["images"]["main"]).mean((0, 1)) for o in observations])
            rows = torch.as_tensor(np.vstack([means, means[:1] + 50]), dtype=torch.float32)
            return [np.append(row, 1).astype(np.float32) for row in self.norm(rows)[:-1].detach().numpy()]

    source = source_of(Normed())
    recorded, _ = Doctor(source, vla.get_suite("reach"))._record()
    (finding,) = check(source.policy, recorded, lambda rows: None).findings
    assert "BatchNorm1d is in training mode" in finding.fault


def test_weights_that_ignore_a_picture_are_no_fault_of_wiring(torch):
    class Ignores(torch.nn.Module, vla.Policy):
        spec = vla.PolicySpec(cameras=("main",))

        def __init__(self):
            super().__init__()
            self.eye = torch.nn.Linear(3, 4)

        def act(self, observations, states):
            means = np.stack([np.asarray(o["images"]["main"]).mean((0, 1)) for o in observations])
            seen = self.eye(torch.as_tensor(means, dtype=torch.float32))
            return [np.append(o["state"]["ee"][:3], row > 1e9) for o, row in zip(observations, seen[:, 0], strict=True)]

    source = source_of(Ignores().eval())
    recorded, _ = Doctor(source, vla.get_suite("reach"))._record()
    made = check(source.policy, recorded, lambda rows: None)
    assert not made.findings
    assert "weights, not its wiring" in " ".join(made.remarks)


def test_looks_at_a_change_that_does_not_help_keep_their_rate_of_false_alarms():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(300):
        trials, before = Trials(lambda: iter(range(1000)), 60), Played()
        ask = lambda key: rng.random() < 0.3  # noqa: E731
        trials.play(before, ask, 12)
        while trials.left >= 3 and trials.judged < 6:
            if trials.judge(before, ask)[2]:
                alarms += 1
                break
    assert alarms <= 300 * FALSE_ALARMS + 3 * (300 * FALSE_ALARMS) ** 0.5


def test_the_exact_test_is_fishers():
    stats = pytest.importorskip("scipy.stats")
    for before, after in (((0, 12), (3, 3)), ((2, 12), (5, 8)), ((0, 4), (0, 3)), ((4, 4), (1, 3))):
        table = [[after[0], after[1] - after[0]], [before[0], before[1] - before[0]]]
        assert p_value(before, after) == pytest.approx(stats.fisher_exact(table, "greater").pvalue)


POLICY = """
import numpy as np
from benchmarks.doctor_plants import Miswired, Planner


def healthy():
    return Planner()


def flipped():
    return Miswired(Planner(), do=lambda action: np.array([*action[:3], 1 - action[3]], np.float32))


def upside_down():
    turned = lambda seen: {**seen, "images": {name: seen["images"][name][::-1] for name in seen["images"]}}
    return Miswired(Planner(), see=turned)
"""


def test_the_command_exits_by_what_it_found_and_writes_it_as_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "doctored.py").write_text(POLICY)
    typed = ["doctor", "--vla-suite=reach", "--json=found.json"]
    assert main([*typed, "--vla-policy=doctored:healthy"]) == 0
    assert json.loads((tmp_path / "found.json").read_text())["findings"] == []
    assert main([*typed, "--vla-policy=doctored:flipped"]) == 1
    (finding,) = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert {"fault", "cure", "before", "after", "evidence"} <= set(finding)
    assert "gripper = -1" in finding["cure"]
    assert "gripper flipped" in capsys.readouterr().out
    (tmp_path / "pyproject.toml").write_text("[tool.pytest_vla.conventions]\ngripper = -1\n")
    assert main([*typed, "--vla-policy=doctored:flipped"]) == 0, "the cure cures"
    assert main([*typed, "--vla-policy=doctored:nobody"]) == 4
    assert main(["doctor", "--vla-suite=reech", "--vla-policy=doctored:healthy"]) == 4


@pytest.mark.parametrize("written", ["gripper = -1", 'turn = "vertical"', "scale = 10.0", "wait = 20"])
def test_a_correction_that_harms_is_named_and_taken_out(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "doctored.py").write_text(POLICY)
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest_vla.conventions]\n{written}\n")
    assert main(["doctor", "--vla-suite=reach", "--json=found.json", "--vla-policy=doctored:healthy"]) == 1
    (finding,) = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert finding["config"] == {written.partition(" ")[0]: None}
    assert finding["cure"] == f"take `{written.removesuffix('.0')}` out of [tool.pytest_vla.conventions]"


def test_a_wrong_correction_is_replaced_by_the_right_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "doctored.py").write_text(POLICY)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest_vla.conventions]\nturn = "horizontal"\n')
    assert main(["doctor", "--vla-suite=reach", "--json=found.json", "--vla-policy=doctored:upside_down"]) == 1
    (finding,) = json.loads((tmp_path / "found.json").read_text())["findings"]
    assert finding["config"] == {"turn": "vertical"}
    table = "[tool.pytest_vla.conventions]"
    assert finding["cure"] == f'take `turn = "horizontal"` out of {table} and add `turn = "vertical"`'


def test_a_new_process_sees_what_the_policy_sees_through_its_conventions(tmp_path, monkeypatch):
    """A checkpoint of the very same weights there: any difference would be ours."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest_vla.conventions]\nturn = "rotate180"\nwording = "question"\n'
    )
    policy = REPOSITORY / "fixtures" / "policies" / "bomb_visuomotor.pt"
    main(["doctor", "--vla-suite=bomb", "--max-episodes=8", "--json=found.json", f"--vla-policy={policy}"])
    made = json.loads((tmp_path / "found.json").read_text())
    assert "process" not in [finding["name"] for finding in made["findings"]]
    assert made["offline"]


class Words(vla.Policy):
    spec = vla.PolicySpec(outputs=("text", "option", "function_call", "discrete_action", "continuous_action"))

    def __init__(self, of_row_zero=False):
        self.of_row_zero = of_row_zero

    def act(self, observations, states):
        return [observations[0 if self.of_row_zero else row]["instruction"] for row in range(len(observations))]


@pytest.mark.parametrize(("of_row_zero", "names"), [(False, []), (True, ["row0_instruction"])])
def test_answers_in_words_are_compared_as_words(of_row_zero, names):
    suite = vla.get_suite("multinet")
    tasks = [task for task in suite.tasks() if suite.output(task) == "text"]
    made = Doctor(source_of(Words(of_row_zero)), suite, tasks=tasks).examine()
    assert [finding.name for finding in made.findings] == names


def test_words_where_a_robot_wants_numbers_are_a_finding():
    (finding,) = examined(Case(Words, "reach")).findings
    assert finding.fault.startswith("no episode can be played: action must be numbers of shape (4,), got str")


def test_a_run_examines_its_policy_over_the_shared_server_and_reports_it(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY}:{pytester.path}")
    pytester.makepyfile(
        doctored=POLICY,
        test_reach="""
import pytest_vla as vla
from benchmarks.reach_suite import Reach


@vla.benchmark(vla.register(Reach()), episodes=2)
def test_reach(policy, env, episode):
    assert vla.rollout(policy, env, episode)
""",
    )
    result = pytester.runpytest_subprocess(
        "--vla-policy=doctored:flipped", "--vla-doctor", "--vla-run-dir=run", "--vla-report=page.html", "-n1"
    )
    result.stdout.fnmatch_lines(["*found: gripper flipped: 0 of 12 -> *"])
    lines = [json.loads(line) for line in (pytester.path / "run" / "run.jsonl").read_text().splitlines()]
    (found,) = [line for line in lines if line["type"] == "doctor"]
    assert found["findings"][0]["config"] == {"gripper": -1}
    assert "gripper flipped" in (pytester.path / "page.html").read_text()
