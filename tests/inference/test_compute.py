"""Precision and compilation: a model's code stays as it is, and it is another policy then."""

import importlib.util
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from camera_net import Net  # noqa: E402

from pytest_vla.episode import EpisodeKey  # noqa: E402
from pytest_vla.inference.session import local_source  # noqa: E402
from pytest_vla.isolate import guest  # noqa: E402
from pytest_vla.options import InferenceOptions  # noqa: E402
from pytest_vla.policies import PolicyError, SharedSource, compute  # noqa: E402
from pytest_vla.policies.compute import Compute  # noqa: E402

KEY = EpisodeKey("camera", "go", "all", 0)


def source(policy):
    return SharedSource(text="net", digest="sha256:0", verified=True, spec=policy.spec, policy=policy)


def answer(policy, rows=3):
    rng = np.random.default_rng(0)
    seen = [
        {
            "images": {"front": rng.integers(0, 255, (32, 32, 3), np.uint8)},
            "state": {"at": rng.standard_normal(2).astype(np.float32)},
        }
        for _ in range(rows)
    ]
    with torch.inference_mode():
        return np.stack(policy.act(seen, [policy.reset(KEY) for _ in range(rows)]))


def net():
    torch.manual_seed(0)
    return Net()


@pytest.mark.parametrize("dtype", compute.DTYPES)
def test_a_lower_precision_changes_the_last_digits_and_the_digest(dtype):
    exact = answer(net())
    made = source(net()).computing("cpu", Compute(dtype))
    rough = answer(made.policy)
    assert rough.dtype == exact.dtype
    assert 0 < np.abs(rough - exact).max() < 0.02
    assert made.digest == f"sha256:0+{dtype}"


def test_nothing_asked_for_is_the_policy_as_it_is():
    made = source(net()).computing("cpu", Compute())
    assert made.digest == "sha256:0"
    assert (answer(made.policy) == answer(net())).all()


@pytest.mark.proof
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_network_gives_the_same_answers_by_other_code():
    made = source(net()).computing("cpu", Compute(compiled=True))
    torch._dynamo.utils.counters.clear()
    assert np.allclose(answer(made.policy), answer(net()), atol=1e-5)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0
    assert made.digest == "sha256:0+compiled"


def test_a_policy_without_a_network_is_refused_in_one_line():
    plain = SimpleNamespace(spec=Net.spec, act=lambda observations, states: [0])
    with pytest.raises(PolicyError, match=r"^--vla-dtype=bfloat16 --vla-compile: the policy has no torch module"):
        source(plain).computing("cpu", Compute("bfloat16", compiled=True))


def test_a_guest_computes_so_by_the_same_file():
    """What a family's own interpreter does, here in ours: it reads the file by its path."""
    there = guest.World("camera_net:Net", [str(Path(__file__).parent)])
    there.policy.load_state_dict(net().state_dict())
    there.compute(compute.__file__, "bfloat16", False, "cpu")
    assert (answer(there.policy) == answer(source(net()).computing("cpu", Compute("bfloat16")).policy)).all()


def test_the_file_that_guests_read_imports_nothing_of_ours():
    before = {name for name in sys.modules if name.startswith("pytest_vla")}
    spec = importlib.util.spec_from_file_location("read_alone", compute.__file__)
    sys.modules["read_alone"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {name for name in sys.modules if name.startswith("pytest_vla")} == before
    assert "pytest_vla.policies" not in Path(compute.__file__).read_text().replace(compute.__name__, "")


def test_the_options_reach_the_model_in_this_process(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(Net, "digest", lambda self: "as ever", raising=False)
    plain, rough = (
        local_source(InferenceOptions(policy="camera_net:Net", dtype=dtype)).identity["digest"]
        for dtype in (None, "bfloat16")
    )
    assert rough == f"{plain}+bfloat16"


class Fake:
    """A tensor that tells what is done with it: there is no GPU where this is tested."""

    def __init__(self, *done):
        self.done = done

    def pin_memory(self):
        return Fake(*self.done, "pinned")

    def to(self, device, non_blocking=False):
        return Fake(*self.done, device, non_blocking)


def test_only_a_gpu_gets_its_inputs_from_pinned_memory_without_a_wait():
    assert compute.placed(Fake(), "cuda:1").done == ("pinned", "cuda:1", True)
    assert compute.placed(Fake(), "cpu").done == ("cpu", False)
