"""Every kind of policy in every native suite, with and without workers: what a person may type runs."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from any_suite import SIZES

from pytest_vla.policies.kinds import KINDS
from pytest_vla.run import read_run

FOLDER = Path(__file__).parent
SUITES = {
    "vima": ("top", "front", "ee", 12, (128, 256)),
    "bomb": ("front", "wrist", "ee", 4, (256, 256)),
    "agnostos_floating": ("front", "wrist", "ee", 9, (256, 256)),
}
TASKS = {"vima": "rotate", "bomb": "place_stone", "agnostos_floating": "push_buttons"}
LEROBOT = {
    "lerobot/__init__.py": "",
    "lerobot/configs/__init__.py": "",
    "lerobot/policies/__init__.py": "",
    "lerobot/configs/policies.py": """
from types import SimpleNamespace
PreTrainedConfig = SimpleNamespace(from_pretrained=lambda folder: SimpleNamespace(type="act"))
""",
    "lerobot/policies/factory.py": f"""
import torch
SIZES = {SIZES}

class Act:
    @classmethod
    def from_pretrained(cls, folder, config):
        return cls()

    def eval(self):
        return self

    def predict_action_chunk(self, batch):
        state, image = batch["observation.state"], batch["observation.images.front"]
        assert image.shape[1] == 3 and 0 <= image.min() and image.max() <= 1
        return torch.full((len(state), 4, SIZES[state.shape[1]]), 0.5)

get_policy_class = lambda name: Act
make_pre_post_processors = lambda config, path, **overrides: (lambda batch: batch, lambda action: action)
""",
}
HUGGING_FACE = """
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
        return np.full(int(input_ids), 0.5)


class TinyProcessor(ProcessorMixin):
    attributes = []

    @classmethod
    def from_pretrained(cls, folder, **options):
        return cls()

    def __call__(self, text, image):
        pixels = torch.from_numpy(np.array(image)).float()[None]
        (numbers,) = [numbers for word, numbers in {"rotate": 12, "stone": 4, "button": 9}.items() if word in text]
        return BatchFeature({"input_ids": torch.tensor([[numbers]]), "pixel_values": pixels})
"""


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with a policy of each kind that is a file or a folder."""
    return tmp_path_factory.mktemp("matrix")


def one_for_all(make):
    """A kind whose one policy acts in all suites of a run."""
    return {",".join(SUITES): make}


def checkpoint(folder):
    from any_suite_torch import Net

    from pytest_vla.policies.checkpoint import save_checkpoint

    save_checkpoint(folder / "net.pt", Net(), {"bias": 0.0})
    return "net.pt"


def exported(suite):
    def make(folder):
        import torch
        from any_suite_torch import Graph

        from pytest_vla import PolicySpec
        from pytest_vla.policies.exported import save_exported

        first, second, key, numbers, (height, width) = SUITES[suite]
        rows = torch.export.Dim("rows")
        state = {"vima": 1, "bomb": 4, "agnostos_floating": 8}[suite]
        inputs = (torch.zeros(2, 2, height, width, 3, dtype=torch.uint8), torch.zeros(2, state))
        graph = torch.export.export(Graph(numbers), inputs, dynamic_shapes=({0: rows}, {0: rows}))
        save_exported(folder / f"{suite}.pt2", graph, PolicySpec(cameras=(first, second), state_keys=(key,)))
        return f"{suite}.pt2"

    return make


def lerobot_folder(folder):
    for name, code in LEROBOT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    (folder / "act").mkdir(exist_ok=True)
    features = {"observation.images.front": {"type": "VISUAL"}, "observation.state": {"type": "STATE"}}
    config = {"type": "act", "input_features": features, "chunk_size": 4, "n_action_steps": 2}
    (folder / "act" / "config.json").write_text(json.dumps(config))
    (folder / "act" / "model.safetensors").write_bytes(b"weights")
    return "act"


def hugging_face_folder(folder):
    pytest.importorskip("transformers")
    import torch
    from safetensors.torch import save_file

    place = folder / "tiny"
    place.mkdir(exist_ok=True)
    (place / "tiny.py").write_text(HUGGING_FACE)
    classes = {"AutoConfig": "tiny.TinyConfig", "AutoModelForVision2Seq": "tiny.TinyVla"}
    config = {"model_type": "tiny_vla", "architectures": ["TinyVla"], "auto_map": classes}
    (place / "config.json").write_text(json.dumps(config))
    (place / "processor_config.json").write_text(json.dumps({"auto_map": {"AutoProcessor": "tiny.TinyProcessor"}}))
    save_file({"gain.weight": torch.tensor([[2.0]])}, place / "model.safetensors", {"format": "pt"})
    return str(place)


def served(arguments, query):
    def make(folder):
        command = [sys.executable, "-m", "pytest_vla.cli", "serve", *arguments, "--port=0"]
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True)
        return process.stdout.readline().split(" on ")[1].split()[0] + query, process.kill

    return make


def chat(folder):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
            state = json.loads(asked)["state"].values()
            action = [0.5] * SIZES[sum(len(part) for part in state)]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [{"message": {"content": json.dumps(action)}}]}).encode())

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1?model=small", server.shutdown


KINDS_OF = {
    "oracle": one_for_all(lambda folder: "oracle"),
    "random": one_for_all(lambda folder: "random"),
    "noop": one_for_all(lambda folder: "noop"),
    "ws://HOST:PORT": one_for_all(served(["any_suite:Looks", "--protocol=vla-eval"], "")),
    "ws://HOST:PORT openpi": one_for_all(served(["any_suite:Chunks"], "?protocol=openpi")),
    "http://HOST/v1?model=NAME": one_for_all(chat),
    "PATH.pt": one_for_all(checkpoint),
    "PATH.pt2": {suite: exported(suite) for suite in SUITES},
    "FOLDER lerobot": one_for_all(lerobot_folder),
    "FOLDER hugging face": one_for_all(hugging_face_folder),
    "MODULE:FACTORY": one_for_all(lambda folder: "any_suite:Looks"),
    "MODULE:FACTORY chunks": one_for_all(lambda folder: "any_suite:Chunks"),
}
PAIRS = [(kind, suites) for kind, makers in KINDS_OF.items() for suites in makers]


def environment(folder):
    path = f"{folder}{os.pathsep}{FOLDER}"
    cache = {"HF_HOME": str(folder / "cache"), "PYTEST_VLA_TRUST_REMOTE_CODE": "1"}
    return {**os.environ, **cache, "PYTHONPATH": path}


def play(folder, kind, suites, workers):
    made = KINDS_OF[kind][suites](folder)
    policy, end = made if isinstance(made, tuple) else (made, lambda: None)
    run = folder / f"run_{len(list(folder.glob('run_*')))}"
    command = [sys.executable, "-m", "pytest", f"--vla-policy={policy}", f"--vla-suite={suites}", "--vla-episodes=1"]
    tasks = ",".join(TASKS[suite] for suite in suites.split(","))
    command += ["--vla-trust-policy=any_suite_torch", f"--vla-task={tasks}", f"--vla-run-dir={run}", *workers, "-q"]
    try:
        done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True)
    finally:
        end()
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return read_run(run), done


def check(run, suites, kind, done):
    table = run.once
    assert table.error_count() == 0, done.stdout
    assert {cell.suite for cell in table.cells} == set(suites.split(",")), done.stdout
    if kind == "oracle":
        assert table.tally().solved == len(table)


@pytest.mark.parametrize(("kind", "suites"), PAIRS, ids=[f"{kind}-{suites}" for kind, suites in PAIRS])
def test_every_kind_of_policy_acts_in_every_native_suite(workplace, kind, suites):
    workers = ["-n", "2"] if PAIRS.index((kind, suites)) % 2 else []
    run, done = play(workplace, kind, suites, workers)
    check(run, suites, kind, done)


@pytest.mark.proof
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "workers"])
@pytest.mark.parametrize(("kind", "suites"), PAIRS, ids=[f"{kind}-{suites}" for kind, suites in PAIRS])
def test_the_whole_product_of_kinds_suites_and_workers(workplace, kind, suites, workers):
    run, done = play(workplace, kind, suites, workers)
    check(run, suites, kind, done)


ELSEWHERE = {"groot://HOST:PORT"}  # its server is a checkout of its authors': tests/families/test_groot.py


def test_the_matrix_has_every_kind_there_is():
    assert {kind.write for kind in KINDS} - ELSEWHERE <= {kind.partition(" ")[0] for kind in KINDS_OF}


def test_an_impossible_pair_is_one_line_before_the_first_episode(workplace):
    command = [sys.executable, "-m", "pytest", "--vla-policy=any_suite:Wrist", "--vla-suite=vima"]
    for workers in ([], ["-n", "2"]):
        done = subprocess.run(
            [*command, *workers], cwd=workplace, env=environment(workplace), capture_output=True, text=True
        )
        assert done.returncode == 4
        (line,) = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("ERROR")]
        assert "the policy needs camera 'wrist'; 'vima' has top, front" in line
