"""Draw the pictures of the README, for light and for dark pages: an episode, a find of a hunt, the page of a run.

python docs/make_pictures.py [episode] [find] [page]     all three without a name; needs chromium for the page
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pytest_vla as vla
from pytest_vla.hunt.frames import first_observation
from pytest_vla.run import read_run

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
SIDE_PX, GAP_PX, TEXT_PX, COLOURS = 208, 8, 15, 128
TASK, PARTITION, CAMERA = "place_stone", "unperturbed", "front"
POLICY = ROOT / "fixtures" / "policies" / "bomb_visuomotor.pt"
HUNT = ["--vla-suite=bomb", f"--vla-task={TASK}", f"--vla-partition={PARTITION}", "--vla-hunt", "--vla-hunt-seed=0"]
HUNT += ["--vla-axes=camera", "--vla-hunt-episodes=120", "--vla-hunt-scenes=8"]


@dataclass(frozen=True)
class Paper:
    """What a picture lies on."""

    name: str
    ground: str
    ink: str


PAPERS = (Paper("light", "#ffffff", "#1f2328"), Paper("dark", "#0d1117", "#e6edf3"))


def draw_episode() -> None:
    """The oracle at work: four moments of one episode."""
    suite = vla.get_suite("bomb")
    key = suite.episode(TASK, PARTITION, 0)
    env = suite.make_env(TASK)
    observation, _ = env.reset(seed=key.seed(), options={"episode": key})
    policy: Any = suite.oracle(env)
    state, frames, done = policy.reset(key), [_frame(observation)], False
    while not done and len(frames) <= suite.step_limit(TASK):
        observation, _, terminated, truncated, info = env.step(policy.act([observation], [state])[0])
        frames.append(_frame(observation))
        done = terminated or truncated or bool(info.get("success"))
    env.close()
    chosen = [frames[round(place)] for place in np.linspace(0, len(frames) - 1, 4)]
    _lay_out("episode", chosen, f'{key}: "{observation["instruction"]}"')


def draw_find() -> None:
    """What a short hunt finds with the shipped policy: a scene before and after the smallest cause."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", *HUNT, f"--vla-policy={POLICY}", "-n2"]
        database = f"--vla-hunt-database={folder}/finds"
        subprocess.run([*command, f"--vla-run-dir={folder}", database], cwd=ROOT, stdout=subprocess.DEVNULL)
        (hunt,) = read_run(Path(folder)).hunts
    cause = hunt.causes[0]
    suite = vla.get_suite("bomb")
    key = suite.episode(TASK, PARTITION, cause.index, cause.perturbation)
    env = suite.make_env(TASK)
    before, after = (first_observation(suite, env, each) for each in (suite.episode(TASK, PARTITION, cause.index), key))
    env.close()
    told = f"before, and with {cause.perturbation}: {cause.failed} of {cause.asked} fail"
    _lay_out("find", [_frame(before), _frame(after)], told)


def draw_page() -> None:
    """The first screen of the page of a run."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("the page needs a browser: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        asked = ["--vla-suite=vima", "--vla-episodes=3", "-n2"]
        asked += ["--vla-policy=fixtures/policies/vima_cross.pt", f"--vla-run-dir={folder}/vima"]
        page_file = Path(folder) / "page.html"
        command = [sys.executable, "-m", "pytest", "-q", *asked, f"--vla-report={page_file}", "--vla-video=none"]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
            for paper in PAPERS:
                page = browser.new_page(viewport={"width": 1000, "height": 620}, color_scheme=paper.name)  # type: ignore[arg-type]
                page.goto(page_file.as_uri())
                page.wait_for_timeout(1000)
                page.screenshot(path=FOLDER / f"page_{paper.name}.png")
            browser.close()
    for paper in PAPERS:
        path = FOLDER / f"page_{paper.name}.png"
        _save(Image.open(path).convert("RGB"), path)


def _frame(observation: Any) -> Image.Image:
    images = observation["images"]
    picture = np.array(images[CAMERA] if CAMERA in images else next(iter(images.values())))
    return Image.fromarray(picture).resize((SIDE_PX, SIDE_PX), Image.Resampling.LANCZOS)


def _lay_out(name: str, frames: list[Image.Image], words: str) -> None:
    width = len(frames) * (SIDE_PX + GAP_PX) - GAP_PX
    font = ImageFont.load_default(TEXT_PX)
    for paper in PAPERS:
        picture = Image.new("RGB", (width, SIDE_PX + 2 * TEXT_PX), paper.ground)
        for number, frame in enumerate(frames):
            picture.paste(frame, (number * (SIDE_PX + GAP_PX), 0))
        draw = ImageDraw.Draw(picture)
        while draw.textlength(words, font) > width:
            words = f"{words.rstrip('.')[:-1]}..."
        draw.text((0, SIDE_PX + TEXT_PX // 2), words, paper.ink, font)
        _save(picture, FOLDER / f"{name}_{paper.name}.png")


def _save(picture: Image.Image, path: Path) -> None:
    """In few colours: a picture of the README is loaded by everybody."""
    path.parent.mkdir(exist_ok=True)
    picture.quantize(COLOURS).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


DRAWN = {"episode": draw_episode, "find": draw_find, "page": draw_page}

if __name__ == "__main__":
    for name in sys.argv[1:] or DRAWN:
        DRAWN[name]()
