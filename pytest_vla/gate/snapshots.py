"""Baselines and scenes as syrupy snapshots: stored as a table or a picture, compared by the gate's own tests.

Importing this needs syrupy; pytest-vla does so only where its plugin is active, and a test file that does is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

try:
    from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
except ImportError:  # pytest says the text of this error alone, without a traceback
    raise pytest.Collector.CollectError('snapshots need syrupy: pip install "pytest-vla[gate]"') from None

from pytest_vla.gate.baseline import SNAPSHOT_SUFFIX, parse_table, render_table
from pytest_vla.gate.evidence import GateError, Verdict
from pytest_vla.gate.judge import Judgement, judge
from pytest_vla.gate.rules import Rules
from pytest_vla.registry import get_suite
from pytest_vla.run import read_run

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE_PX = 128
STATE = "state"  # the text field of the PNG with the digest of the physical state


@pytest.fixture
def vla_baseline(snapshot: Any, request: pytest.FixtureRequest) -> Any:
    """The stored success table of this test: `assert vla_baseline == success_table(RUN)`; see docs/gate.md."""
    from pytest_vla.command_line import read_settings
    from pytest_vla.gate.plugin import rules_of

    config = request.config
    rules = rules_of(read_settings(config))
    members = {"rules": rules, "exact": bool(config.option.update_snapshots)}
    return snapshot.use_extension(type("Baseline", (BaselineExtension,), members))


@pytest.fixture
def vla_scene(snapshot: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The stored scene of this test: `assert vla_scene == scene(SUITE, TASK)`; see docs/gate.md."""
    members = {"received": tmp_path_factory.mktemp("vla-scenes", numbered=True)}
    return snapshot.use_extension(type("Scenes", (SceneExtension,), members))


def success_table(run: Path | str) -> str:
    """The success table of a run file, for a baseline snapshot."""
    found = read_run(run)
    if not len(found):
        raise GateError(f"'{found.path}' has no finished episode")
    return render_table(found.table)


class BaselineExtension(SingleFileSnapshotExtension):
    """A success table matches where the gate passes: proven to be no worse than the stored one by the margin."""

    _write_mode = WriteMode.TEXT
    file_extension = SNAPSHOT_SUFFIX.removeprefix(".")
    rules: ClassVar[Rules] = Rules()
    exact: ClassVar[bool] = False  # while updating: whatever differs is written

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        if serialized_data == snapshot_data or self.exact:
            return bool(serialized_data == snapshot_data)
        return self._judge(serialized_data, snapshot_data).verdict is Verdict.PASS

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        from pytest_vla.gate.printing import render

        yield from render(self._judge(serialized_data, snapshot_data)).splitlines()
        yield "accept the new rates with --snapshot-update"

    def _judge(self, new: str, old: str) -> Judgement:
        table = parse_table(new)
        return judge(table, self.rules, baseline=parse_table(old), max_errors=table.error_count())


@dataclass(frozen=True, slots=True)
class Scene:
    """What an episode starts from: a digest of its physical state, and what its first camera sees."""

    name: str
    digest: str
    picture: Image

    def to_png(self) -> bytes:
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_text(STATE, self.digest)
        content = BytesIO()
        self.picture.save(content, "png", pnginfo=info, optimize=True)
        return content.getvalue()


def scene(suite: str, task: str, partition: str | None = None, index: int = 0) -> Scene:
    """The scene of one episode, by default the first of the task's first partition."""
    from PIL import Image

    source = get_suite(suite)
    cells = source.select([task], [partition] if partition else source.partitions())
    key = source.episode(task, cells[0][1], index)
    env = source.make_env(task)
    try:
        observation, _ = env.reset(seed=key.seed(), options={"episode": key})
        digest = hashlib.blake2b(source.digest(env).encode(), digest_size=16).hexdigest()
        images = observation.get("images") or {}
        pixels = next(iter(images.values()), None)
        picture = Image.new("RGB", (8, 8)) if pixels is None else Image.fromarray(pixels).convert("RGB")
    finally:
        env.close()
    picture.thumbnail((PICTURE_PX, PICTURE_PX))
    return Scene(str(key), digest, picture)


class SceneExtension(SingleFileSnapshotExtension):
    """A scene matches where its state is the same to the bit and its picture to the eye.

    A digest may leave out what never moves (sizes, colours), which the picture shows; renderers differ in a few pixels.
    """

    file_extension = "png"
    received: ClassVar[Path] = Path()
    visible: ClassVar[int] = 24  # of 255: a pixel that differs by less may be the renderer's doing
    tolerated: ClassVar[float] = 0.0005  # share of the pixels that may differ visibly

    _stored = ""
    _name = "the scene"

    def serialize(self, data: Any, **_: Any) -> bytes:
        if not isinstance(data, Scene):
            raise TypeError(f"vla_scene compares a Scene, such as scene(SUITE, TASK), not a {type(data).__name__}")
        self._name = data.name
        return data.to_png()

    def read_snapshot_data_from_location(self, *, snapshot_location: str, snapshot_name: str, session_id: str) -> Any:
        self._stored = snapshot_location
        return super().read_snapshot_data_from_location(
            snapshot_location=snapshot_location, snapshot_name=snapshot_name, session_id=session_id
        )

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        (new_state, new), (old_state, old) = _open(serialized_data), _open(snapshot_data)
        return new_state == old_state and _changed_share(old, new, self.visible) <= self.tolerated

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        (new_state, new), (old_state, old) = _open(serialized_data), _open(snapshot_data)
        received = self.received / f"{Path(self._stored).stem}.received.png"
        received.write_bytes(serialized_data)
        state = "its state is the same" if new_state == old_state else f"its state was {old_state}, is {new_state}"
        share = 100 * _changed_share(old, new, self.visible)
        yield f"the scene of {self._name} has changed: {state}; {share:.1f}% of its pixels differ"
        yield f"  stored    {self._stored}"
        yield f"  received  {received}"
        yield "accept it with --snapshot-update; results from before do not compare with those after"


def _open(png: bytes) -> tuple[str, Image]:
    from PIL import Image

    picture = Image.open(BytesIO(png))
    return str(picture.info.get(STATE, "")), picture.convert("RGB")


def _changed_share(old: Image, new: Image, visible: int) -> float:
    import numpy as np

    if old.size != new.size:
        return 1.0
    difference = np.abs(np.asarray(old, dtype=int) - np.asarray(new, dtype=int)).max(axis=-1)
    return float((difference > visible).mean())
