"""The kinds of policy that `--vla-policy` takes: one table, from which help, errors, docs and loading are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

from pytest_vla.policies import loading
from pytest_vla.policies.base import PolicyError
from pytest_vla.policies.builtin import BUILTIN
from pytest_vla.policies.source import PolicySource, SharedSource
from pytest_vla.suggest import unknown

ENTRY_POINT_GROUP = "pytest_vla.policy_kinds"

Place = Literal["env", "server", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to name a policy.

    Args:
        write: what a person writes.
        help: what that is, in a few words.
        matches: whether a text is written so. Kinds are asked in the order of the table, and the first one has it.
        load: makes the policy, importing what it needs only then; PolicyError when it cannot.
        install: what `pip install` has to be given for it.
        environment: what `pytest-vla install` has to be given for it, where its packages are not in this interpreter.
        place: where the policy lives. `env`: it is made for each environment, in its process; `server`: once, with `-n`
            in a process that serves all workers; `elsewhere`: somebody else's process, whose batches are not ours.
    """

    write: str
    help: str
    matches: Callable[[str], bool]
    load: Callable[[str], PolicySource]
    install: str = ""
    place: Place = "server"
    environment: str = ""


def _named(name: str) -> Callable[[str], bool]:
    return lambda text: text == name


def _starts(*schemes: str) -> Callable[[str], bool]:
    return lambda text: text.startswith(schemes)


def _ends(suffix: str) -> Callable[[str], bool]:
    return lambda text: text.endswith(suffix) and "://" not in text  # an address may well end with a file's name


def _is_model_folder(text: str) -> bool:
    return (Path(text) / "config.json").is_file()


def _is_lerobot_folder(text: str) -> bool:
    if not _is_model_folder(text):
        return False
    from pytest_vla.policies.lerobot import is_lerobot

    return is_lerobot(Path(text))


def _is_factory(text: str) -> bool:
    return text.count(":") == 1 and "/" not in text


#: Folders of model families, loaded in this interpreter; a family may have an environment of its own instead.
FOLDERS = {
    "lerobot": Kind(
        "FOLDER",
        "a LeRobot policy (`config.json`, `model.safetensors`)",
        _is_lerobot_folder,
        loading.load_lerobot_folder,
        environment="lerobot",
    ),
    "huggingface": Kind(
        "FOLDER",
        "a Hugging Face model that acts, as OpenVLA, or answers in words, as PaliGemma and Qwen-VL (`config.json`)",
        _is_model_folder,
        loading.load_huggingface_folder,
        install="pytest-vla[huggingface]",
    ),
}

KINDS = (
    Kind(
        "oracle",
        "the suite's own solution, which knows the true state of its environment",
        _named("oracle"),
        loading.load_builtin,
        place="env",
    ),
    Kind(
        "random",
        "samples the action space: the score of knowing nothing",
        _named("random"),
        loading.load_builtin,
        place="env",
    ),
    Kind(
        "noop",
        "does nothing: what it solves needs no policy",
        _named("noop"),
        loading.load_builtin,
        place="env",
    ),
    Kind(
        "ws://HOST:PORT",
        "a running vla-eval or openpi server, told apart by its handshake (`wss://` too)",
        _starts("ws://", "wss://"),
        loading.load_server,
        install="pytest-vla[remote]",
        place="elsewhere",
    ),
    Kind(
        "groot://HOST:PORT",
        "a running GR00T server, over its own protocol",
        _starts("groot://"),
        loading.load_groot,
        install="pytest-vla[groot]",
        place="elsewhere",
    ),
    Kind(
        "http://HOST/v1?model=NAME",
        "an OpenAI-compatible chat endpoint: words, pictures of questions, function calls (`https://` too)",
        _starts("http://", "https://"),
        loading.load_chat,
        place="elsewhere",
    ),
    Kind(
        "PATH.pt",
        "a checkpoint of ours, made by `save_checkpoint`: weights and plain data, loaded with `weights_only=True`",
        _ends(".pt"),
        loading.load_checkpoint_file,
        install="pytest-vla[torch]",
    ),
    Kind(
        "PATH.pt2",
        "a `torch.export` graph, made by `save_exported`: no Python class needed",
        _ends(".pt2"),
        loading.load_exported_file,
        install="pytest-vla[torch]",
    ),
    FOLDERS["lerobot"],
    FOLDERS["huggingface"],
    Kind(
        "MODULE:FACTORY",
        "anything you can write in Python: a function or class that returns a policy",
        _is_factory,
        loading.load_factory,
    ),
)


def load_policy(text: str) -> PolicySource:
    """Load what `--vla-policy` names; raises PolicyError with one clear message when that fails."""
    return kind_of(text).load(text)


def load_shared(text: str) -> SharedSource:
    """The same for whoever has no environment to give, such as a server."""
    source = load_policy(text)
    if not isinstance(source, SharedSource):
        raise PolicyError(f"{text!r} needs the environment and cannot be served")
    return source


def kind_of(text: str) -> Kind:
    """The kind of policy that a text names; nothing is loaded yet."""
    for kind in _asked_in_turn():
        if kind.matches(text):
            return kind
    taken = f"--vla-policy takes {choices(*installed_kinds(own=True), *installed_kinds())}"
    if any(sign in text for sign in "./"):
        raise PolicyError(f"no policy can be made of {text!r}; {taken}")
    raise PolicyError(f"{unknown('policy', text, list(BUILTIN))}; {taken}")


def _asked_in_turn() -> Iterator[Kind]:
    yield from installed_kinds(own=True)
    yield from KINDS
    yield from installed_kinds()


@cache
def installed_kinds(own: bool = False) -> tuple[Kind, ...]:
    """Those of other packages, asked after ours: none of them can change what one of our texts means.

    With `own` those of other rooms of this package, asked before: a folder may belong into an environment of its own.
    """
    kinds = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.value.startswith("pytest_vla.isolate.") != own:
            continue
        try:
            kind = point.load()
        except Exception as error:
            raise PolicyError(f"the policy kind {point.value!r} cannot be loaded: {error}") from error
        if not isinstance(kind, Kind):
            raise PolicyError(f"the entry point {point.value!r} must be a pytest_vla.policies.Kind, got {kind!r}")
        kinds.append(kind)
    return tuple(kinds)


def choices(*more: Kind) -> str:
    """What one may write, for help and errors."""
    *others, last = dict.fromkeys(kind.write for kind in (*KINDS, *more))
    return f"{', '.join(others)} or {last}"


def markdown_table() -> str:
    """The table of docs/policies.md."""
    rows = [f"| `{kind.write}` | {kind.help} | {_needs(kind)} |" for kind in KINDS]
    return "\n".join(["| `--vla-policy=` | what it is | needs |", "|---|---|---|", *rows])


def _needs(kind: Kind) -> str:
    if kind.environment:
        return f"`pytest-vla install {kind.environment}`"
    if not kind.install:
        return "-"
    return f'`pip install "{kind.install}"`' if "[" in kind.install else f"`pip install {kind.install}`"
