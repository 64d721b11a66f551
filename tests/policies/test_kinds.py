"""Every kind of policy people already have: exported graphs, LeRobot and Hugging Face folders, chat endpoints."""

import json
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from pytest_vla.episode import EpisodeKey
from pytest_vla.policies import EnvSource, PolicyError, PolicySpec, load_policy
from pytest_vla.policies.chat import ChatPolicy, Endpoint, parse_action
from pytest_vla.policies.kinds import ENTRY_POINT_GROUP, KINDS, installed_kinds, kind_of, load_shared


def bound(text):
    return load_shared(str(text)).policy


def observation(x=1.0):
    images = {"front": np.full((8, 6, 3), 255, np.uint8), "wrist": np.zeros((8, 6, 3), np.uint8)}
    return {"images": images, "state": {"arm": np.array([x, 2.0]), "hand": np.array([3.0])}, "instruction": "Go."}


# --- torch.export -----------------------------------------------------------------------------------------------------


@pytest.fixture
def graph(torch, tmp_path):
    """An exported graph: the mean of all pixels, and the state."""

    class Graph(torch.nn.Module):
        def forward(self, images, state):
            return torch.cat([images.float().mean((1, 2, 3, 4))[:, None], state], 1)

    example = (torch.zeros(2, 2, 8, 6, 3, dtype=torch.uint8), torch.zeros(2, 3))
    batch = torch.export.Dim("batch")
    return torch.export.export(Graph(), example, dynamic_shapes=({0: batch}, {0: batch}))


def test_an_exported_graph_gets_what_its_spec_names(graph, tmp_path):
    from pytest_vla.policies.exported import save_exported

    path = tmp_path / "policy.pt2"
    save_exported(path, graph, PolicySpec(cameras=("front", "wrist"), state_keys=("hand", "arm")))
    source = load_policy(str(path))
    assert source.digest.startswith("sha256:")
    assert source.spec.cameras == ("front", "wrist")
    actions = source.policy.act([observation(x) for x in (1.0, 5.0, 9.0)], [None] * 3)
    assert [action.tolist() for action in actions] == [[127.5, 3, x, 2] for x in (1.0, 5.0, 9.0)]


def test_an_exported_graph_without_a_spec_says_how_to_write_one(torch, graph, tmp_path):
    torch.export.save(graph, tmp_path / "bare.pt2")
    with pytest.raises(PolicyError, match="save_exported"):
        load_policy(str(tmp_path / "bare.pt2"))


def test_an_exported_file_that_would_be_unpickled_is_refused(graph, tmp_path):
    from pytest_vla.policies.exported import save_exported

    path = tmp_path / "policy.pt2"
    save_exported(path, graph, PolicySpec(state_keys=("arm",)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("policy/data/constants/opaque_obj_0", b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(PolicyError, match="refused"):
        load_policy(str(path))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_damaged_exported_file_is_one_clear_error(tmp_path, content):
    (tmp_path / "policy.pt2").write_bytes(content)
    with pytest.raises(PolicyError, match=r"policy\.pt2"):
        load_policy(str(tmp_path / "policy.pt2"))


# --- LeRobot ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def lerobot(torch, tmp_path, monkeypatch):
    """A LeRobot folder, and a stand-in for the package that has the same functions."""
    config = {
        "type": "act",
        "input_features": {
            "observation.images.front": {"type": "VISUAL", "shape": [3, 8, 6]},
            "observation.state": {"type": "STATE", "shape": [3]},
        },
        "output_features": {"action": {"type": "ACTION", "shape": [3]}},
        "chunk_size": 4,
        "n_action_steps": 2,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"weights")

    class Act:
        @classmethod
        def from_pretrained(cls, folder, config):
            assert config.type == "act"
            return cls()

        def eval(self):
            return self

        def to(self, device):
            return self

        def predict_action_chunk(self, batch):
            assert batch["observation.images.front"].shape[1:] == (3, 8, 6)
            assert batch["observation.images.front"].max() == 1
            assert batch["task"] == ["Go."] * len(batch["task"])
            return torch.stack([batch["observation.state"] * step for step in range(4)], 1)

    configs, factory = ModuleType("lerobot.configs.policies"), ModuleType("lerobot.policies.factory")
    configs.PreTrainedConfig = SimpleNamespace(from_pretrained=lambda folder: SimpleNamespace(type="act"))
    factory.get_policy_class = lambda name: Act
    factory.make_pre_post_processors = lambda config, path, **overrides: (
        lambda batch: batch,
        lambda action: action + 100,
    )
    for name in ("lerobot", "lerobot.configs", "lerobot.policies"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, configs.__name__, configs)
    monkeypatch.setitem(sys.modules, factory.__name__, factory)
    return tmp_path


def test_a_lerobot_folder_gives_chunks_through_its_own_processors(lerobot):
    policy = bound(lerobot)
    assert policy.spec.cameras == ("front",)
    assert (policy.spec.chunk, policy.spec.horizon) == (4, 2)
    states = [policy.reset(EpisodeKey("s", "t", "p", index)) for index in range(2)]
    actions = policy.act([observation(1.0), observation(5.0)], states)
    assert actions[1].tolist() == [[100 + step * value for value in (5, 2, 3)] for step in range(4)]


def test_a_lerobot_folder_without_the_package_says_what_to_install(lerobot, monkeypatch):
    monkeypatch.setitem(sys.modules, "lerobot.configs.policies", None)
    with pytest.raises(PolicyError, match="pytest-vla install lerobot"):
        load_policy(str(lerobot))


def test_a_folder_without_weights_is_one_clear_error(lerobot):
    (lerobot / "model.safetensors").unlink()
    with pytest.raises(PolicyError, match=r"no model\.safetensors"):
        load_policy(str(lerobot))


def test_a_changed_folder_has_another_digest(lerobot):
    before = load_policy(str(lerobot)).digest
    (lerobot / "model.safetensors").write_bytes(b"weightz")
    assert load_policy(str(lerobot)).digest != before


# --- Hugging Face -----------------------------------------------------------------------------------------------------


@pytest.fixture
def openvla(torch, tmp_path, monkeypatch):
    """A folder in OpenVLA's style, small enough to be made here: a model, a processor, and the code of both."""
    code = pytest.importorskip("transformers.dynamic_module_utils")
    from safetensors.torch import save_file

    monkeypatch.setattr(code, "HF_MODULES_CACHE", str(tmp_path / "cache"))  # not in the home of whoever runs this
    (tmp_path / "tiny.py").write_text(
        """
import numpy as np
import torch
from transformers import BatchFeature, PretrainedConfig, PreTrainedModel, ProcessorMixin


class TinyConfig(PretrainedConfig):
    model_type = "tiny_vla"


class TinyVla(PreTrainedModel):
    config_class = TinyConfig

    def __init__(self, config):
        super().__init__(config)
        self.gain = torch.nn.Linear(1, 1, bias=False)
        self.post_init()

    def _init_weights(self, module):
        pass

    def predict_action(self, input_ids, pixel_values, unnorm_key, do_sample):
        assert not do_sample
        brightness = self.gain(pixel_values.mean()[None]).item()
        return np.array([input_ids.shape[1], brightness, unnorm_key == "bridge"])


class TinyProcessor(ProcessorMixin):
    attributes = []

    @classmethod
    def from_pretrained(cls, folder, **options):
        return cls()

    def __call__(self, text, image):
        pixels = torch.from_numpy(np.array(image)).float()[None]
        return BatchFeature({"input_ids": torch.tensor([[ord(letter) for letter in text]]), "pixel_values": pixels})
"""
    )
    classes = {"AutoConfig": "tiny.TinyConfig", "AutoModelForVision2Seq": "tiny.TinyVla"}
    config = {"model_type": "tiny_vla", "architectures": ["TinyVla"], "auto_map": classes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "processor_config.json").write_text(json.dumps({"auto_map": {"AutoProcessor": "tiny.TinyProcessor"}}))
    save_file({"gain.weight": torch.tensor([[2.0]])}, tmp_path / "model.safetensors", {"format": "pt"})
    return tmp_path


def test_a_hugging_face_folder_is_asked_with_its_prompt(openvla, monkeypatch):
    monkeypatch.setenv("PYTEST_VLA_TRUST_REMOTE_CODE", "1")
    monkeypatch.setenv("PYTEST_VLA_UNNORM_KEY", "bridge")
    seen = observation()
    (action,) = bound(openvla).act([seen], [None])
    brightness = next(iter(seen["images"].values())).mean()
    assert action == pytest.approx([len("In: What action should the robot take to go?\nOut:"), 2 * brightness, 1])


def test_code_in_a_folder_runs_only_when_told_so(openvla, monkeypatch):
    monkeypatch.delenv("PYTEST_VLA_TRUST_REMOTE_CODE", raising=False)
    (openvla / "tiny.py").write_text("raise SystemExit('this code was not to be run')")
    with pytest.raises(PolicyError, match="PYTEST_VLA_TRUST_REMOTE_CODE=1"):
        load_policy(str(openvla))


def test_a_hugging_face_folder_that_cannot_act_is_one_clear_error(openvla, monkeypatch):
    monkeypatch.setenv("PYTEST_VLA_TRUST_REMOTE_CODE", "1")
    code = (openvla / "tiny.py").read_text()
    (openvla / "tiny.py").write_text(code.replace("def predict_action", "def forward"))
    with pytest.raises(PolicyError, match=r"has no predict_action\(\)"):
        load_policy(str(openvla))
    (openvla / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(PolicyError, match="transformers cannot load"):
        load_policy(str(openvla))


# --- chat endpoints ---------------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint(monkeypatch):
    """A chat endpoint whose reply is `endpoint.say(request)`; a number is an HTTP status."""
    monkeypatch.setattr("pytest_vla.policies.chat.FIRST_WAIT_S", 0.0)
    state = SimpleNamespace(say=lambda request: "[1, 2]", headers=[])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            state.headers.append(dict(self.headers))
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = state.say(request)
            self.send_response(said if isinstance(said, int) else 200)
            self.end_headers()
            if isinstance(said, str):
                self.wfile.write(json.dumps({"choices": [{"message": {"content": said}}]}).encode())
            elif isinstance(said, bytes):
                self.wfile.write(said)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1?model=small"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_chat_model_reads_the_state_and_answers_with_numbers(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    def say(request):
        assert request["model"] == "small"
        content = json.loads(request["messages"][-1]["content"])
        assert content["task"] == "Go."
        return f"The action is {json.dumps(content['state']['arm'])}."

    endpoint.say = say
    actions = bound(endpoint.url).act([observation(1.0), observation(5.0)], [None, None])
    assert [action.tolist() for action in actions] == [[1, 2], [5, 2]]
    assert endpoint.headers[0]["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("said", "reason"), [(500, "policy_error"), ("I will not say.", "policy_error"), (b"{}", "policy_error")]
)
def test_a_chat_endpoint_that_misbehaves_is_an_error_of_that_row(endpoint, said, reason):
    endpoint.say = lambda request: said if "9.0" in request["messages"][-1]["content"] else "[1, 2]"
    good, bad = bound(endpoint.url).act([observation(1.0), observation(9.0)], [None, None])
    assert good.tolist() == [1, 2]
    assert getattr(bad, "reason", "policy_error") == reason


def test_a_chat_endpoint_that_is_gone_is_a_lost_server():
    gone = Endpoint.at("http://127.0.0.1:9/v1?model=small")[0]
    (answer,) = ChatPolicy(gone).act([observation()], [None])
    assert answer.reason == "server_lost"


def test_a_chat_endpoint_that_was_never_there_is_said_before_the_first_episode():
    with pytest.raises(PolicyError, match=r"nothing answers at http://127\.0\.0\.1:9/v1: Connection refused"):
        load_policy("http://127.0.0.1:9/v1?model=small")


def test_a_chat_address_must_name_the_model():
    with pytest.raises(PolicyError, match=r"\?model=NAME"):
        load_policy("http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("text", "action"), [("[0.5, -1]", [0.5, -1.0]), ("3", 3), ("```json\n[1]\n```", [1.0]), ("answer: -2", -2)]
)
def test_an_action_is_found_in_a_reply(text, action):
    assert parse_action(text).tolist() == action


@pytest.mark.parametrize("text", ["", "none", "[1, 'a']", '["a"]', "{"])
def test_a_reply_without_an_action_is_a_policy_error(text):
    with pytest.raises(PolicyError):
        parse_action(text)


def test_a_spec_that_names_nothing_known_lists_the_kinds():
    with pytest.raises(PolicyError, match=r"no policy can be made of 'model\.onnx'.*ws://HOST:PORT"):
        load_policy("model.onnx")


# --- the table --------------------------------------------------------------------------------------------------------

ZOO = """
import numpy as np
from pytest_vla.policies import Kind, Policy, SharedSource


class Animal(Policy):
    def act(self, observations, states):
        return [np.zeros(2) for _ in observations]


def load(text):
    return SharedSource(text=text, digest=f"zoo:{text}", verified=True, policy=Animal())


kind = Kind("zoo://NAME", "an animal", lambda text: text.startswith("zoo://"), load)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Makes `zoo.py` an installed package whose entry point is `zoo:NAME`."""

    def install(name, code=ZOO):
        folder = tmp_path / "zoo-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\nzoo = zoo:{name}\n")
        (tmp_path / "zoo.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "zoo", raising=False)
        installed_kinds.cache_clear()

    yield install
    installed_kinds.cache_clear()


def test_a_package_adds_a_kind_by_an_entry_point(installed):
    installed("kind")
    assert load_policy("zoo://lion").digest == "zoo:zoo://lion"
    with pytest.raises(PolicyError, match=r"zoo://NAME"):
        load_policy("model.onnx")


@pytest.mark.parametrize(("name", "message"), [("Animal", "must be a pytest_vla.policies.Kind"), ("tiger", "tiger")])
def test_a_package_with_a_broken_kind_costs_only_what_is_none_of_ours(installed, name, message):
    installed(name)
    assert load_policy("noop").verified
    with pytest.raises(PolicyError, match=message):
        load_policy("zoo://lion")


@pytest.mark.parametrize(
    ("text", "write"),
    [
        ("noop", "noop"),
        ("wss://host/a.pt", "ws://HOST:PORT"),
        ("https://host/v1?model=m:f", "http://HOST/v1?model=NAME"),
        ("a/b.pt", "PATH.pt"),
        ("c:b.pt2", "PATH.pt2"),
        ("package.module:make", "MODULE:FACTORY"),
    ],
)
def test_a_text_is_of_one_kind(text, write):
    assert kind_of(text).write == write


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.place == "env"], ids=lambda kind: kind.write)
def test_what_lives_with_the_environment_cannot_be_had_without_one(kind):
    assert isinstance(load_policy(kind.write), EnvSource)
    with pytest.raises(PolicyError, match="needs the environment"):
        load_shared(kind.write)


def test_policies_of_every_kind_start_an_episode_without_a_suite(endpoint):
    assert bound(endpoint.url).reset(EpisodeKey("s", "t", "p", 0)) is None


def test_a_lerobot_folder_of_other_image_sizes_is_refused_before_the_first_episode(lerobot):
    from pytest_vla.registry import get_suite

    policy = bound(lerobot)
    assert policy.spec.image_sizes == {"front": (8, 6)}
    refused = policy.spec.mismatch(get_suite("vima"))
    assert refused == "the policy takes 8 x 6 pixels of camera 'front'; 'vima' gives 128 x 256 pixels"
    larger = {**observation(), "images": {"front": np.zeros((16, 12, 3), np.uint8)}}
    with pytest.raises(PolicyError, match="gives 16 x 12 pixels, the policy takes 8 x 6"):
        policy.act([larger], [policy.reset(EpisodeKey("s", "t", "p", 0))])
