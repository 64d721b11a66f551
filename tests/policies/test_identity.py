"""What a policy is: its full content and what changes its answers, or an honest `unverified`."""

import json
import socket
import sys

import pytest

from pytest_vla.policies import PolicyError, PolicySpec, load_policy
from pytest_vla.policies.digests import folder_digest
from pytest_vla.policies.kinds import KINDS

IDENTITY = ["text", "digest", "verified", "horizon", "ensemble", "batch"]

FACTORIES = """
import os
import numpy as np
import pytest_vla as vla

WEIGHT = os.environ.get("WEIGHT", "0.1")


class Silent(vla.Policy):
    def act(self, observations, states):
        return [np.full(2, float(WEIGHT)) for _ in observations]


class Known(Silent):
    def digest(self):
        return WEIGHT


class Unsure(Silent):
    def digest(self):
        return None if WEIGHT == "0.1" else 0.9


class Broken(Silent):
    def digest(self):
        raise RuntimeError("no weights")


class Chunks(Silent):
    spec = vla.PolicySpec(chunk=4, horizon=int(os.environ.get("HORIZON", 3)), ensemble="mean")

    def act(self, observations, states):
        return [np.zeros((4, 2)) for _ in observations]
"""

MODULES = """
import os
import torch
import pytest_vla as vla

class Net(torch.nn.Module, vla.Policy):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3, bias=False, dtype=torch.bfloat16)
        torch.nn.init.constant_(self.layer.weight, float(os.environ["WEIGHT"]))
        self.register_buffer("scale", torch.tensor(1.0))

class Holder(vla.Policy):
    def __init__(self):
        self.net = Net()

    def act(self, observations, states):
        return []
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a factory of the module `made`, imported anew, in an environment."""
    monkeypatch.chdir(tmp_path)

    def make(code, name, **environment):
        (tmp_path / "made.py").write_text(code)
        monkeypatch.delitem(sys.modules, "made", raising=False)
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        return load_policy(f"made:{name}")

    return make


def test_a_factory_whose_policy_tells_its_digest_is_verified_by_it(load):
    one, same, other = (load(FACTORIES, "Known", WEIGHT=weight) for weight in ("0.1", "0.1", "0.9"))
    assert (one.verified, one.digest) == (True, same.digest)
    assert other.digest != one.digest


@pytest.mark.parametrize("name", ["Silent", "Unsure"])
def test_a_factory_whose_policy_tells_nothing_is_unverified(load, name):
    assert not load(FACTORIES, name, WEIGHT="0.1").verified


def test_an_edit_of_the_factory_is_noticed(load):
    assert load(FACTORIES, "Known").digest != load(FACTORIES + "\n", "Known").digest


@pytest.mark.parametrize(
    ("name", "message"), [("Unsure", "must return a text, got float"), ("Broken", "RuntimeError: no weights")]
)
def test_a_digest_that_cannot_be_had_is_one_clear_error(load, name, message):
    with pytest.raises(PolicyError, match=message):
        load(FACTORIES, name, WEIGHT="0.9")


@pytest.mark.parametrize("name", ["Net", "Holder"])
def test_other_weights_of_a_torch_module_are_noticed_though_they_may_not_be_all(torch, load, name):
    one, same, other = (load(MODULES, name, WEIGHT=weight) for weight in ("0.1", "0.1", "0.9"))
    assert one.digest == same.digest != other.digest
    assert not one.verified


def test_another_spec_is_another_policy(load):
    assert load(FACTORIES, "Chunks", HORIZON="3").digest != load(FACTORIES, "Chunks", HORIZON="1").digest


def test_one_byte_in_the_middle_of_a_large_file_makes_another_folder(tmp_path):
    content = bytearray(3 << 20)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(content)
    before = folder_digest(tmp_path)
    content[len(content) // 2] = 1
    weights.write_bytes(content)
    assert folder_digest(tmp_path) != before


def test_a_renamed_file_makes_another_folder(tmp_path):
    (tmp_path / "a").write_bytes(b"weights")
    before = folder_digest(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert folder_digest(tmp_path) != before


@pytest.mark.parametrize("text", [kind.write for kind in KINDS if kind.place == "env"])
def test_what_is_shipped_is_verified(text):
    source = load_policy(text)
    assert source.identity == dict(zip(IDENTITY, (text, source.digest, True, None, None, None), strict=True))


def test_a_chat_model_is_unverified():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not load_policy(f"http://127.0.0.1:{port}/v1?model=small").verified


# --- as a run asks it -------------------------------------------------------------------------------------------------


@pytest.fixture
def identities(reach):
    """Runs a policy of FACTORIES; the identity as every process of the run knows it."""
    reach.makepyfile(made=FACTORIES)
    reach.makeconftest("""
        import json
        from pytest_vla.plugin import EXECUTION
        def pytest_sessionfinish(session):
            name = getattr(session.config, "workerinput", {}).get("workerid", "controller")
            with open(f"identity-{name}.json", "w") as file:
                json.dump(session.config.stash[EXECUTION].source().identity, file)
    """)

    def run(name, *arguments):
        for old in reach.path.glob("identity-*"):
            old.unlink()
        reach.runpytest_subprocess(f"--vla-policy=made:{name}", "--vla-episodes=1", *arguments)
        found = {path.stem: json.loads(path.read_text()) for path in reach.path.glob("identity-*")}
        assert len(found) == (3 if "-n2" in arguments else 1)
        return list(found.values())

    return run


@pytest.mark.parametrize("workers", [[], ["-n2"]])
@pytest.mark.parametrize(
    ("name", "arguments", "asked"),
    [
        ("Known", ["--vla-horizon=2"], (True, None, None, None)),
        ("Silent", ["--vla-deterministic"], (False, None, None, 8)),
        ("Chunks", [], (False, 3, "mean", None)),
        ("Chunks", ["--vla-horizon=2", "--vla-ensemble=newest"], (False, 2, "newest", None)),
        ("Chunks", ["--vla-deterministic", "--vla-batch=4"], (False, 3, "mean", 4)),
    ],
)
def test_every_process_of_a_run_knows_how_the_policy_is_really_asked(identities, name, arguments, asked, workers):
    first, *others = identities(name, *arguments, *workers)
    assert list(first) == IDENTITY
    assert first["text"] == f"made:{name}"
    assert tuple(first.values())[2:] == asked
    assert all(other == first for other in others)


def test_a_policy_has_the_same_digest_in_a_server_as_in_this_process(identities):
    (here,) = identities("Known")
    assert here == identities("Known", "-n2")[0]


# --- the spec ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        PolicySpec(),
        PolicySpec(("a",), ("top", "front"), ("ee",), True, 8, 4, "exponential", True),
        PolicySpec(chunk=4, horizon=2),
    ],
)
def test_a_spec_comes_back_from_json(spec):
    assert PolicySpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


def test_the_spec_of_an_earlier_file_is_understood():
    old = {"state": True, "horizon": 2, "ensemble": "mean", "suites": (), "cameras": ["top"], "chunk": 4, "else": 1}
    assert PolicySpec.from_dict(old) == PolicySpec(cameras=("top",), state=True, chunk=4, horizon=2, ensemble="mean")


@pytest.mark.parametrize(("field", "message"), [({"horizon": 0}, "at least 1"), ({"ensemble": "median"}, "median")])
def test_a_spec_that_cannot_be_meant_is_refused(field, message):
    with pytest.raises(PolicyError, match=message):
        PolicySpec(chunk=4, **field)
