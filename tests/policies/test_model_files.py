"""A model file is data: what it names runs only where a person says so."""

import io
import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest

from pytest_vla.policies import PolicyError, PolicySpec, load_policy
from pytest_vla.policies.trust import EVERYTHING, is_registered, trust

MARK = "code_was_run"


class Boom:
    """Unpickled, it would leave a file behind."""

    def __reduce__(self):
        return (os.mkdir, (MARK,))


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def graph(torch, tmp_path):
    """An honest graph, with a weight, a buffer and an operation on shapes."""
    from pytest_vla.policies.exported import save_exported

    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)
            self.register_buffer("shift", torch.ones(2))

        def forward(self, state):
            return torch.nn.functional.relu(self.layer(state)).reshape(state.shape[0], -1) + self.shift

    rows = torch.export.Dim("rows")
    program = torch.export.export(Graph(), (torch.zeros(2, 3),), dynamic_shapes=({0: rows},))
    save_exported(tmp_path / "graph.pt2", program, PolicySpec(state_keys=("arm",)))
    return tmp_path / "graph.pt2"


def rewritten(path, change, name="changed.pt2"):
    """The archive with each member as `change(name, content)` has it; None leaves it out, a list adds more."""
    made = path.with_name(name)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            found = change(info.filename, old.read(info))
            for member, content in found if isinstance(found, list) else [(info.filename, found)]:
                new.writestr(zipfile.ZipInfo(member), content)
    return made


def in_model(change):
    def apply(name, content):
        if "/models/" not in name:
            return content
        data = json.loads(content)
        change(data)
        return json.dumps(data).encode()

    return apply


def _pickled_inputs(name, content):
    if "sample_inputs" not in name:
        return content
    import torch

    buffer = io.BytesIO()
    torch.save((Boom(),), buffer)
    return buffer.getvalue()


def _pickled_weight(name, content):
    if name.endswith("model_weights_config.json"):
        config = json.loads(content)
        for entry in config["config"].values():
            entry["use_pickle"] = True
        return json.dumps(config).encode()
    if name.endswith("/weight_0"):
        import torch

        buffer = io.BytesIO()
        torch.save(Boom(), buffer)
        return buffer.getvalue()
    return content


def _opaque(name, content):
    if not name.endswith("model_constants_config.json"):
        return content
    folder = name.rpartition("/")[0]
    member = f"{folder}/opaque_obj_0/../tensor_0"
    entry = {"path_name": "opaque_obj_0/../tensor_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
    return [(name, json.dumps({"config": {"x": entry}}).encode()), (member, pickle.dumps(Boom()))]


def _target(data):
    data["graph_module"]["graph"]["nodes"][0]["target"] = "torch.os.mkdir"


def _size(data):
    values = data["graph_module"]["graph"]["tensor_values"]
    for value in values.values():
        for size in value["sizes"]:
            if "as_expr" in size:
                size["as_expr"]["expr_str"] = f"__import__('os').mkdir('{MARK}')"


def _guards(data):
    data["guards_code"] = [f"__import__('os').mkdir('{MARK}') is None"]


def _placeholder(data):
    for given in data["graph_module"]["graph"]["inputs"]:
        given["as_tensor"]["name"] = f"x=__import__('os').mkdir('{MARK}')"


ATTACKS = {
    "pickled inputs": _pickled_inputs,
    "pickled weight": _pickled_weight,
    "opaque constant": _opaque,
    "operator": in_model(_target),
    "size": in_model(_size),
    "name": in_model(_placeholder),
}


def test_an_honest_graph_is_read_as_torch_would_read_it(graph, torch):
    policy = load_policy(str(graph)).policy
    state = np.arange(3, dtype=np.float32)
    with torch.no_grad():
        (action,) = policy.act([{"state": {"arm": state}}], [None])
        expected = torch.export.load(graph).module()(torch.from_numpy(state)[None])
    assert action.tolist() == expected[0].tolist()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_graph_that_would_run_code_is_refused_before_torch_reads_it(graph, attack):
    path = rewritten(graph, ATTACKS[attack])
    with pytest.raises(PolicyError, match=r"was refused.*--vla-trust-policy=changed\.pt2"):
        load_policy(str(path))
    assert not os.path.exists(MARK)


def test_the_guards_of_a_graph_are_not_run(graph, torch):
    policy = load_policy(str(rewritten(graph, in_model(_guards)))).policy
    with torch.no_grad():
        policy.act([{"state": {"arm": np.zeros(3, np.float32)}}], [None])
    assert not os.path.exists(MARK)


def test_a_graph_that_is_trusted_is_read_by_torch_alone(graph):
    path = rewritten(graph, ATTACKS["pickled weight"])
    trust(["changed.pt2"])
    with pytest.raises(PolicyError, match=r"not a torch\.export file"):
        load_policy(str(path))
    assert os.path.exists(MARK), "the attack works where it is allowed: the test above is no accident"


@pytest.mark.parametrize("suffix", [".pt", ".pt2"])
def test_compressed_members_are_refused(tmp_path, suffix):
    path = tmp_path / f"bomb{suffix}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb/archive_format", b"pt2")
        archive.writestr("bomb/data.pkl", b"0" * (1 << 24))
    with pytest.raises(PolicyError, match="compressed members"):
        load_policy(str(path))


# --- checkpoints ------------------------------------------------------------------------------------------------------

MODULE = """
import os
os.mkdir("code_was_run")
import torch
import pytest_vla as vla

class Net(torch.nn.Module, vla.Policy):
    pass
"""


@pytest.fixture
def checkpoint(torch, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "somebodys", raising=False)
    content = {"policy": "somebodys:Net", "config": {}, "state_dict": {}, "spec": {}}
    torch.save(content, tmp_path / "net.pt")
    (tmp_path / "somebodys.py").write_text(MODULE)
    return tmp_path / "net.pt"


def test_a_module_of_the_working_directory_is_imported_only_where_it_is_named(checkpoint):
    with pytest.raises(PolicyError, match=r"would run\. If you trust its author, add --vla-trust-policy=somebodys"):
        load_policy(str(checkpoint))
    assert not os.path.exists(MARK)
    trust(["somebodys"])
    assert load_policy(str(checkpoint)).digest.startswith("sha256:")
    assert os.path.exists(MARK)


def test_a_checkpoint_away_from_its_module_says_where_to_start(checkpoint, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(PolicyError, match="'somebodys' is not here: start from the folder that has it, install it"):
        load_policy(str(checkpoint))


def test_classes_of_ours_and_of_packages_that_offer_policies_need_no_trust():
    assert is_registered("pytest_vla.suites.vima.policy.object_tokens")
    assert not is_registered("subprocess")
    assert not is_registered("numpy.linalg")


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
@pytest.mark.parametrize("cut", [True, False])
def test_no_broken_checkpoint_advises_to_run_its_code(checkpoint, place, cut):
    content = bytearray(checkpoint.read_bytes())
    at = int(len(content) * place)
    checkpoint.write_bytes(content[:at] if cut else content[:at] + b"\xff\x00\x80" + content[at + 3 :])
    told = ""
    try:
        load_policy(str(checkpoint))
    except PolicyError as error:
        told = str(error)
    assert "weights_only" not in told
    assert "\n" not in told


# --- LeRobot ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["policy_preprocessor.json", "policy_postprocessor.json"])
def test_a_lerobot_step_by_class_is_refused(tmp_path, monkeypatch, name):
    from types import ModuleType

    for module in ("lerobot", "lerobot.configs", "lerobot.policies"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    configs, factory = ModuleType("lerobot.configs.policies"), ModuleType("lerobot.policies.factory")
    configs.PreTrainedConfig = factory.get_policy_class = factory.make_pre_post_processors = None
    monkeypatch.setitem(sys.modules, "lerobot.configs.policies", configs)
    monkeypatch.setitem(sys.modules, "lerobot.policies.factory", factory)
    folder = tmp_path / "act"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"type": "act", "input_features": {}}))
    (folder / "model.safetensors").write_bytes(b"")
    step = {"class": "subprocess.Popen", "config": {"args": ["mkdir", MARK]}}
    (folder / name).write_text(json.dumps({"name": "p", "steps": [{"registry_name": "to_batch"}, step]}))
    with pytest.raises(PolicyError, match=r"would import and call subprocess\.Popen.*--vla-trust-policy=act"):
        load_policy(str(folder))
    trust([EVERYTHING])
    with pytest.raises(PolicyError, match="LeRobot cannot load"):
        load_policy(str(folder))
