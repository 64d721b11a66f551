"""One moment of an episode explained: every intervention, its effect, and what chance would have done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_vla.explain.asking import Asker
from pytest_vla.explain.chance import ASKED_AGAIN, Verdict, correlation, judged
from pytest_vla.explain.errors import ExplainError
from pytest_vla.explain.fills import Fill
from pytest_vla.explain.interventions import Box, Intervention, Nothing, Patch, Thing, ablations
from pytest_vla.explain.maps import ROWS, Cell, Place, heat, plain, refined
from pytest_vla.explain.scores import NATS, SHARE, Ruler
from pytest_vla.explain.spans import spans_of

Floats = NDArray[np.float64]
Segments = Mapping[str, tuple[NDArray[Any], Mapping[int, str]]]
LEAST_THING_PX = 4
CONTROL_DRAWS = 200
LEAST_TO_RESTORE = 0.02  # nats, or share of the action space: what is less cannot be told apart when it comes back


@dataclass(frozen=True)
class Moment:
    """What a policy saw when it was asked; `segments` says by camera which thing each pixel shows."""

    step: int
    seen: Mapping[str, Any]
    segments: Segments = field(default_factory=dict)
    other: Mapping[str, Any] | None = None
    """What another episode of the task looks like, to swap inputs with."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """How finely a person wants to know. A `patch` asks for one plain grid instead of refinement."""

    fill: Fill = "mean"
    patch: int = 0
    stride: int = 0
    rows: int = ROWS
    units: tuple[str, ...] | None = None
    """Globs of modules to patch; empty: layers, heads and MLPs; None: no activation patching."""
    shuffle: bool = True
    lenient: bool = False
    """Whether a policy without activations that can be patched is no error."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one intervention did."""

    name: str
    effect: float
    metres: float | None = None
    change: Intervention | None = None
    verdict: Verdict | None = None
    area: float = 0.0
    """Of a thing: its share of the picture."""
    camera: str = ""


@dataclass(frozen=True)
class Explained:
    """All that was measured at one moment."""

    step: int
    unit: str
    phase: str
    sizes: Mapping[str, tuple[int, int]]
    cells: Sequence[Cell]
    spans: Sequence[Effect]
    ablations: Sequence[Effect]
    things: Sequence[Effect]
    verdicts: Mapping[str, Verdict]
    """By `patches CAMERA`, `spans` and `things`."""
    units: Mapping[str, Any] | None
    rows: int
    masked: bool
    """Whether words were hidden by an attention mask, or else left out."""
    looks_at: Mapping[str, tuple[float, float]]
    """By thing the share of the patches' effect that lies on it, and its share of the pictures; empty where no patch
    has an effect above chance."""

    def above(self, name: str) -> bool:
        return name in self.verdicts and self.verdicts[name].above


def explain(asker: Asker, ruler: Ruler, moment: Moment, cameras: Sequence[str], wishes: Wishes, rng: Any) -> Explained:
    """Ask about one moment; the policy has followed the episode up to it."""
    before = asker.rows
    asker.learn(moment.seen)
    asked = _Asked(asker, ruler, moment, cameras, wishes, rng)
    cells, verdicts = asked.patches(cameras)
    masked = bool(asker.about.get("masks_text"))
    spans = asked.effects([(each.text, each) for each in spans_of(str(moment.seen.get("instruction", "")), masked)])
    if spans:
        verdicts["spans"] = asked.again(max(spans, key=lambda each: each.effect))
    whole = asked.ablations()
    things = asked.things(cameras)
    if things:
        verdicts["things"] = asked.again(max(things, key=lambda each: each.effect))
    units = asked.units(cells, spans, verdicts, wishes.units) if wishes.units is not None else None
    return Explained(
        step=moment.step,
        unit=NATS if asker.likely else SHARE,
        phase=ruler.phase(asked.clean, moment.step),
        sizes={name: np.shape(moment.seen["images"][name])[:2] for name in cameras},
        cells=cells,
        spans=spans,
        ablations=whole,
        things=things,
        verdicts=verdicts,
        units=units,
        rows=asker.rows - before,
        masked=masked,
        looks_at=looks_at(cells, moment.segments, [name for name in cameras if verdicts[f"patches {name}"].above]),
    )


def looks_at(cells: Sequence[Cell], segments: Segments, cameras: Sequence[str]) -> dict[str, tuple[float, float]]:
    """How much of the effect lies on which thing, over the cameras that count."""
    effect: dict[str, float] = {}
    area: dict[str, float] = {}
    for camera in cameras:
        if camera not in segments:
            continue
        ids, names = segments[camera]
        density = heat(cells, camera, ids.shape)
        for number, name in names.items():
            here = ids == number
            effect[name] = effect.get(name, 0.0) + float(density[here].sum())
            area[name] = area.get(name, 0.0) + float(here.sum())
    whole, pixels = sum(effect.values()), sum(area.values())
    if whole <= 0:
        return {}
    return {name: (effect[name] / whole, area[name] / pixels) for name in effect if area[name]}


class _Asked:
    """The questions of one moment; the first one is what the policy does, and what chance alone does to that."""

    def __init__(
        self, asker: Asker, ruler: Ruler, moment: Moment, cameras: Sequence[str], wishes: Wishes, rng: Any
    ) -> None:
        self.asker, self.ruler, self.moment, self.wishes, self.rng = asker, ruler, moment, wishes, rng
        first = asker.rows_of(moment.seen, [Nothing()] * (1 + ASKED_AGAIN))
        self.clean = first.clean
        self.clean_score = None if first.scores is None else float(first.scores[0])
        noise = ruler.effects(first, self.clean_score)[1:]
        self.steady = not noise.any()
        self.floor = float(noise.mean())
        self.inputs = ablations(moment.seen, moment.other, tuple(cameras))
        self.questions = len(cameras) + len(self.inputs) + 2  # a place in each picture, whole inputs, words and things

    def ask(self, changes: Sequence[Intervention]) -> Floats:
        """Their effects alone, above what the policy does by itself."""
        answers = self.asker.rows_of(self.moment.seen, changes, self.clean, actions=False)
        return self.ruler.effects(answers, self.clean_score) - self.floor

    def effects(self, named: Sequence[tuple[str, Intervention]]) -> list[Effect]:
        if not named:
            return []
        answers = self.asker.rows_of(self.moment.seen, [change for _, change in named], self.clean)
        found, metres = self.ruler.effects(answers, self.clean_score) - self.floor, self.ruler.metres(answers)
        return [
            Effect(name, float(found[row]), None if metres is None else float(metres[row]), change)
            for row, (name, change) in enumerate(named)
        ]

    def again(self, effect: Effect) -> Verdict:
        """Asked once more, where answers vary, against the observation as it is."""
        assert effect.change is not None
        if self.steady:
            return self.judged(effect.name, np.full(ASKED_AGAIN, effect.effect), np.zeros(ASKED_AGAIN))
        return self.judged(effect.name, *self.mixed(effect.change, [Nothing()] * ASKED_AGAIN))

    def mixed(self, change: Intervention, controls: Sequence[Intervention]) -> tuple[Floats, Floats]:
        """A change as often as there are controls, and those, in a random order: the test is exact whatever varies."""
        rows = [change] * len(controls) + list(controls)
        order = self.rng.permutation(len(rows))
        found = np.empty(len(rows))
        found[order] = self.ask([rows[row] for row in order])
        return found[: len(controls)], found[len(controls) :]

    def judged(self, what: str, ours: Floats, controls: Floats, alike: float | None = None) -> Verdict:
        return judged(what, ours, controls, self.questions, alike)

    # --- pictures ----------------------------------------------------------------------------------------------------

    def patches(self, cameras: Sequence[str]) -> tuple[list[Cell], dict[str, Verdict]]:
        wishes, images = self.wishes, self.moment.seen.get("images") or {}
        sizes = {name: np.shape(images[name])[:2] for name in cameras}
        if not sizes:
            return [], {}

        def ask(places: Sequence[Place]) -> Floats:
            return self.ask([Patch(camera, box, wishes.fill) for camera, box in places])

        if wishes.patch:
            coarse = cells = plain(sizes, ask, wishes.patch, wishes.stride or None)
        else:
            coarse, cells = refined(sizes, ask, wishes.rows)
        alike = self._alike(coarse)
        verdicts = {
            f"patches {camera}": self._place(coarse, camera, sizes[camera], alike.get(camera)) for camera in sizes
        }
        return cells, verdicts

    def _place(self, coarse: Sequence[Cell], camera: str, size: tuple[int, int], alike: float | None) -> Verdict:
        """The patch with the largest effect, asked again, against patches of its size elsewhere."""
        top = max((cell for cell in coarse if cell.camera == camera), key=lambda cell: cell.effect)
        elsewhere = [Patch(camera, box, self.wishes.fill) for box in self._elsewhere(top.box, size)]
        if self.steady:
            ours, controls = np.full(ASKED_AGAIN, top.effect), self.ask(elsewhere)
        else:
            ours, controls = self.mixed(Patch(camera, top.box, self.wishes.fill), elsewhere)
        return self.judged(str(list(top.box)), ours, controls, alike)

    def _elsewhere(self, box: Box, size: tuple[int, int]) -> list[Box]:
        """Random places for the same patch, away from it as far as there is room."""
        x0, y0, x1, y1 = box
        (height, width), wide, high = size, x1 - x0, y1 - y0
        found: list[Box] = []
        for draw in range(CONTROL_DRAWS):
            x, y = int(self.rng.integers(width - wide + 1)), int(self.rng.integers(height - high + 1))
            far = abs(x - x0) >= 2 * wide or abs(y - y0) >= 2 * high
            if far or draw >= CONTROL_DRAWS - ASKED_AGAIN:
                found.append((x, y, x + wide, y + high))
            if len(found) == ASKED_AGAIN:
                break
        return found

    def _alike(self, coarse: Sequence[Cell]) -> dict[str, float | None]:
        """How much the map is that of the same network with nothing learnt."""
        if not self.wishes.shuffle or not self.asker.about.get("parameters"):
            return {}
        changes: list[Intervention] = [Nothing(), *(Patch(cell.camera, cell.box, self.wishes.fill) for cell in coarse)]
        seed = int(self.rng.integers(2**31))
        answers = self.asker.rows_of(self.moment.seen, changes, actions=False, shuffle=seed)
        score = None if answers.scores is None else float(answers.scores[0])
        found = self.ruler.effects(answers, score)[1:]
        cameras = dict.fromkeys(cell.camera for cell in coarse)
        made = {}
        for camera in cameras:
            rows = [row for row, cell in enumerate(coarse) if cell.camera == camera]
            made[camera] = correlation(np.array([coarse[row].effect for row in rows]), found[rows])
        return made

    def things(self, cameras: Sequence[str]) -> list[Effect]:
        """What the simulator says is there, painted over one by one."""
        named: list[tuple[str, Intervention]] = []
        areas = []
        for camera in cameras:
            if camera not in self.moment.segments:
                continue
            ids, names = self.moment.segments[camera]
            for name in dict.fromkeys(names.values()):
                mask = np.isin(ids, [number for number, each in names.items() if each == name])
                if LEAST_THING_PX <= mask.sum() < mask.size:
                    named.append((name, Thing(camera, name, mask)))
                    areas.append(float(mask.mean()))
        made = self.effects(named)
        return [
            replace(each, area=area, camera=change.camera)
            for each, area, (_, change) in zip(made, areas, named, strict=True)
            if isinstance(change, Thing)
        ]

    # --- whole inputs and activations --------------------------------------------------------------------------------

    def ablations(self) -> list[Effect]:
        made = self.effects([(each.name, each) for each in self.inputs])
        return [Effect(each.name, each.effect, each.metres, verdict=self.again(each)) for each in made]

    def units(
        self, cells: Sequence[Cell], spans: Sequence[Effect], verdicts: Mapping[str, Verdict], named: Sequence[str]
    ) -> dict[str, Any]:
        """With the strongest patch, the strongest span, or (where neither has an effect) the strongest ablation."""
        candidates: list[tuple[float, str, Intervention]] = []
        for camera in dict.fromkeys(cell.camera for cell in cells):
            if verdicts[f"patches {camera}"].above:
                box = max((cell for cell in cells if cell.camera == camera), key=lambda cell: cell.effect).box
                top = _around(cells, camera, box)
                patch = Patch(camera, top, self.wishes.fill)
                candidates.append((float(self.ask([patch])[0]), f"patch {list(top)} of {camera}", patch))
        if "spans" in verdicts and verdicts["spans"].above:
            best = max(spans, key=lambda each: each.effect)
            assert best.change is not None
            candidates.append((best.effect, f"'{best.name}'", best.change))
        candidates = [each for each in candidates if each[0] >= LEAST_TO_RESTORE]
        if not candidates and named is not None and not self.wishes.lenient:
            self.asker.units(self.moment.seen, Nothing(), named)  # says so where there are none to be patched
        if not candidates:
            return {
                "corrupted_by": "",
                "units": [],
                "note": "no patch and no span has an effect that could be restored",
            }
        found = []
        for effect, name, change in candidates:
            try:
                made = self.asker.units(self.moment.seen, change, named)
            except ExplainError as error:
                if not self.wishes.lenient:
                    raise
                return {"corrupted_by": "", "units": [], "note": str(error)}
            found.append({"corrupted_by": name, "effect": effect, **made})
        found.sort(key=lambda each: -each["effect"])
        return {**found[0], "others": found[1:]}


def _around(cells: Sequence[Cell], camera: str, box: Box) -> Box:
    """A patch about the strongest cell, large enough to change an answer: four times its side, within the picture."""
    x0, y0, x1, y1 = box
    width = max(cell.box[2] for cell in cells if cell.camera == camera)
    height = max(cell.box[3] for cell in cells if cell.camera == camera)
    more = max(x1 - x0, y1 - y0, min(width, height) // 16)
    return max(x0 - more, 0), max(y0 - more, 0), min(x1 + more, width), min(y1 + more, height)
