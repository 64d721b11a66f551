"""CALVIN itself against its own code, where CALVIN_ROOT names a checkout of mees/calvin."""

import json

import numpy as np
from installed import need
from pytest_vla.suites.calvin import chains

NAME = "calvin"
need(NAME)
CHAINS = 50
BYE = "\nimport os; sys.stdout.flush(); os._exit(0)"  # Bullet says goodbye on stdout

#: The original's modules, without the training code that they import on the way, and pyhash, which no longer builds.
ORIGINAL = """
import types, importlib, numpy as np
root = {root!r}
sys.path[:0] = [root + "/calvin_models", root + "/calvin_env"]
class Anything(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {{}})
for name in ("torch", "calvin_agent.models.mcil", "calvin_agent.utils.utils"):
    sys.modules[name] = Anything(name)
def fnv1_32():
    def hasher(text):
        value = 0
        for byte in (text if isinstance(text, bytes) else text.encode("utf-16-le")):
            value = (value * 16777619) & 0xffffffff ^ byte
        return value
    assert hasher(b"test") == 3698262380 and hasher("test") == 3910690890  # vectors of pyfasthash's own tests
    return hasher
sys.modules["pyhash"] = types.ModuleType("pyhash"); sys.modules["pyhash"].fnv1_32 = fnv1_32
from calvin_agent.evaluation import multistep_sequences as m
from calvin_agent.evaluation.utils import get_env_state_for_initial_condition
"""


def _original(suite) -> str:
    return ORIGINAL.format(root=str(suite.data_folder()))


def test_chains_and_initial_scenes_are_those_of_the_originals_code(suite, upstream):
    states = [dict(chains.chain(index).state) for index in range(CHAINS)]
    numbers = [chains.initial_states().index(state) for state in states]
    found = upstream(
        _original(suite)
        + f"states, numbers = json.loads({json.dumps(json.dumps([states, numbers]))})\n"
        + "chains = {n: [s.tolist() for s in m.get_sequences_for_state2((state, 6, n))]\n"
        + "          for state, n in zip(states, numbers)}\n"
        + "scenes = [[list(map(float, part)) for part in get_env_state_for_initial_condition(s)] for s in states]\n"
        + "print(json.dumps([chains, scenes]))"
    )
    drawn, scenes = found
    for index in range(CHAINS):
        ours = chains.chain(index)
        robot, scene = scenes[index]
        assert list(ours.tasks) in drawn[str(numbers[index])]
        assert list(ours.scene) == scene
        assert list(chains.ROBOT) == robot


def test_scenes_and_predicates_of_50_chains_are_the_originals(suite, upstream):
    """One world made anew a chain, beside the original's one environment; from a chain's scene to that of the next.

    The predicates that hold after such a jump are judged by the original's checker in both.
    """
    told = [suite.describe(suite.episode("chain", "abc_d", index)) for index in range(CHAINS)]
    rows = upstream(
        f"root, told = {str(suite.data_folder())!r}, json.loads({json.dumps(json.dumps(told))})\n"
        "import numpy as np\n"
        "w = World('chain', root=root); kept = world.make_env(world.Path(root)); rows = []\n"
        "for now, after in zip(told, told[1:] + told[:1]):\n"
        "    w.reset(0, now); chain, jump = now['chain'], after['chain']\n"
        "    kept.reset(robot_obs=np.array(chain['robot']), scene_obs=np.array(chain['scene']))\n"
        "    start, scenes = kept.get_info(), [w.scene(), kept.get_state_obs()['scene_obs'].tolist()]\n"
        "    for env in (w.env, kept):\n"
        "        env.reset(robot_obs=np.array(jump['robot']), scene_obs=np.array(jump['scene']))\n"
        "    rows.append([scenes, w.holding(), sorted(w.checker.get_task_info(start, kept.get_info()))])\n"
        "print(json.dumps(rows))" + BYE
    )
    assert len(rows) == CHAINS
    for row, each in zip(rows, told, strict=True):
        (ours, original), holding, expected = row
        np.testing.assert_allclose(ours, original, atol=2e-4)
        np.testing.assert_allclose(ours[:2], each["chain"]["scene"][:2], atol=1e-3)
        assert holding == expected
    assert len({name for _, holding, _ in rows for name in holding}) >= 8, "jumps make many predicates true"


def test_a_chain_moves_on_when_a_task_is_done_and_ends_when_one_takes_too_long(suite, upstream):
    told = suite.describe(suite.episode("chain", "abc_d", 0))
    found = upstream(
        f"told = json.loads({json.dumps(json.dumps(told))})\n"
        f"import numpy as np\nw = World('chain', root={str(suite.data_folder())!r}, subtask_steps=3)\n"
        "still = np.array([0, 0, 0, 0, 0, 0, 0.2], np.float32)\n"
        "first = w.reset(0, told); w.checker.get_task_info_for_set = lambda start, now, names: names\n"
        "moved = w.step(still)\n"
        "half = w.progress()\n"
        "w.checker.get_task_info_for_set = lambda start, now, names: set()\n"
        "ends = [w.step(still) for _ in range(3)]\n"
        "said = [first['instruction'], moved[0]['instruction'], moved[0]['state']['subtask'].tolist()]\n"
        "print(json.dumps([said, moved[1:], half, [e[1:] for e in ends], w.env.robot.gripper_action]))" + BYE
    )
    said, moved, half, ends, gripper = found
    assert said[0] != said[1]
    assert said[2] == [1.0]
    assert moved == [False, {"success": False}]
    assert half == 0.2
    assert [end[0] for end in ends] == [False, False, True]
    assert ends[-1][1]["failure"] == "step_limit"
    assert ends[-1][1]["message"].startswith("1 of 5 tasks done")
    assert gripper == 1, "whatever is above 0 opens"


def test_an_episode_is_the_same_after_another_one_and_pictures_are_upright(suite, env, begin):
    first = begin("chain", "abc_d", 0)
    digest, picture = suite.digest(env), first["images"]["static"]
    assert picture.shape == (200, 200, 3)
    assert first["images"]["gripper"].shape == (84, 84, 3)
    for _ in range(5):
        env.step(np.array([0.5, 0, -0.5, 0, 0, 0.3, -1], np.float32))
    begin("chain", "abc_d", 1)
    assert suite.digest(env) != digest
    again = begin("chain", "abc_d", 0)
    assert suite.digest(env) == digest
    assert np.array_equal(again["images"]["static"], picture)
    green = picture[:100].astype(int)  # the led on top of the cabinet is on in this chain
    assert ((green[..., 1] > 180) & (green[..., 0] < 120)).sum() > 20
