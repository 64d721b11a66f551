"""How the report holds up: 10,000 episodes with 200 videos, opened and filtered in a real browser."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_vla.episode import EpisodeKey, Result
from pytest_vla.report.film import FORMAT, Film, choose, make_films, media_name
from pytest_vla.report.html import build_report
from pytest_vla.report.html.build import render
from pytest_vla.report.html.page import Page, Side
from pytest_vla.report.video import VideoWriter
from pytest_vla.run import FILE_NAME, KeySet, Plan, Record, Run, RunWriter, read_run
from pytest_vla.run.provenance import provenance

TARGET = {"open_s": 2.0, "filter_ms": 200.0, "scroll_frame_ms": 50.0}
TASKS, PARTITIONS = 20, ("placement", "combinatorial", "novel_object", "novel_task")
EPISODES, VIDEOS = 10_000, 200
SEED = 7
CHROMIUM_ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

CHOICES = (
    *(("outcome", "unsolved"), ("task", "task_number_03"), ("task", ""), ("partition", "novel_task_generalization")),
    *(("q", "container 12"[:length]) for length in range(1, 13)),
    *(("q", ""), ("sort", "slow"), ("film", "yes")),
)

# From a change of a filter to the frame that shows its result; below 200 ms a page counts as responsive.
FILTER = """async ([name, value]) => {
  const element = document.querySelector(`[name=${name}]`);
  const start = performance.now();
  element.value = value;
  element.dispatchEvent(new Event(name === "q" ? "input" : "change"));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""

# The times between two frames while the whole list runs by.
SCROLL = """async () => {
  const list = document.getElementById("list");
  const gaps = [];
  let last = performance.now();
  for (let step = 0; step <= 60; step++) {
    list.scrollTop = (list.scrollHeight * step) / 60;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""

PLAYS = """(video) => new Promise((done, fail) => {
  const tell = () => done(video.duration);
  video.onerror = () => fail(video.error.message);
  if (video.readyState >= 2) tell(); else video.onloadeddata = tell;
})"""


def write_big_run(folder: Path) -> Run:
    """A finished run of ten thousand episodes over 80 cells, a third of them unsolved, with long messages."""
    draw = random.Random(SEED)
    records = []
    for number in range(EPISODES):
        cell, index = divmod(number, EPISODES // (TASKS * len(PARTITIONS)))
        task, partition = divmod(cell, len(PARTITIONS))
        outcome = draw.choices(("solved", "unsolved", "error"), (60, 38, 2))[0]
        steps = draw.randint(5, 300)
        result = Result(
            EpisodeKey("big", f"task_number_{task:02d}", f"{PARTITIONS[partition]}_generalization", index),
            outcome,
            {"unsolved": draw.choice(("step_limit", "constraint_violated")), "error": "env_error"}.get(outcome),
            f"Traceback of episode {number}: " + "line\n" * 20 if outcome == "error" else "",
            steps=steps,
            progress=1.0 if outcome == "solved" else round(draw.random(), 4),
            digest=f"{draw.getrandbits(128):032x}",
            initial_digest=f"{draw.getrandbits(128):032x}",
            seconds=steps * 0.02,
            timings={"reset": 0.1, "act": steps * 0.01, "step": steps * 0.008},
            instruction=f"Put object {draw.randint(0, 400)} into container {draw.randint(0, 400)}.",
        )
        records.append(Record(result, test="passed" if outcome == "solved" else "failed"))
    policy = {"text": "synthetic", "digest": "synthetic", "spec": {}}
    writer = RunWriter.create(folder / FILE_NAME, provenance(policy, {"big": "1"}, {"episodes": 125}))
    keys = KeySet.of(record.key for record in records)
    for line in (Plan(keys, keys).to_record(), *(record.to_record() for record in records), {"type": "end"}):
        writer.write(line)
    writer.close()
    return read_run(folder)


def write_films(run: Run, folder: Path) -> None:
    """Two hundred videos as the report finds them when they were made earlier: a square on its way."""
    from PIL import Image, ImageDraw

    folder.mkdir(parents=True)
    for number, record in enumerate(run.records(choose(run, str(VIDEOS // TASKS)))):
        name = media_name(record)
        video = VideoWriter(folder / f"{name}.mp4", 40)
        for step in range(40):
            frame = Image.new("RGB", (320, 240), (40, 44, 52))
            left = 7 * step
            ImageDraw.Draw(frame).rectangle((left, number % 200, left + 30, number % 200 + 30), fill=(230, 90, 60))
            video.add(frame)
        video.close()
        frame.save(folder / f"{name}.jpg")
        actions = {f"joint[{joint}]": [round(joint + 0.01 * step, 3) for step in range(40)] for joint in range(7)}
        film = Film(
            str(record.key), record.result.digest, video=f"{name}.mp4", strip=f"{name}.jpg", shown=[40],
            actions=actions, progress=[step / 40 for step in range(41)],
        )  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps({"format": FORMAT, **asdict(film)}))


def measure(browser: Any, path: Path, repeats: int) -> dict[str, float]:
    """The worst seconds until the page is open and its list shown; how long filters and frames take, in ms."""
    opened, filtered, frames = [], [], []
    for _ in range(repeats):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.locator("#list .row").first.wait_for()
        opened.append(time.perf_counter() - start)
        assert page.locator("#count").inner_text().startswith(f"{EPISODES:,} of {EPISODES:,}")
        filtered += [page.evaluate(FILTER, list(choice)) for choice in CHOICES]
        page.locator("button", has_text="Clear").click()
        frames += page.evaluate(SCROLL)
        page.evaluate("location.hash = 'film=yes'")
        page.locator("#list .row").first.click()
        assert page.locator("dialog video").evaluate(PLAYS) > 1
        context.close()
    return {
        "open_s": round(max(opened), 3),
        "open_median_s": round(statistics.median(opened), 3),
        "filter_ms": round(percentile95(filtered), 1),
        "filter_median_ms": round(statistics.median(filtered), 1),
        "scroll_frame_ms": round(statistics.median(frames), 1),
        "scroll_frame_95_ms": round(percentile95(frames), 1),
    }


def percentile95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="open each page once")
    repeats = 1 if parser.parse_args().quick else 5
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("this benchmark needs playwright: pip install playwright") from None
    if chromium is None:
        raise SystemExit("this benchmark needs chromium: apt-get install -y chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = write_big_run(folder)
        write_films(run, folder / "report_media")
        results = {}
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
            for kind in ("beside", "inlined"):
                start = time.perf_counter()
                path = build_report(run, folder / "report.html", video=str(VIDEOS // TASKS))
                if kind == "inlined":
                    path = inlined(run, folder)
                built = time.perf_counter() - start
                results[kind] = {
                    "page_mb": round(path.stat().st_size / 1e6, 2),
                    "build_s": round(built, 2),
                    **measure(browser, path, repeats),
                }
                print(f"media {kind}: {results[kind]}")
            browser.close()
        videos = len(list((folder / "report_media").glob("*.mp4")))
    ok = videos == VIDEOS and all(results[kind][name] <= limit for kind in results for name, limit in TARGET.items())
    summary = {"name": "report", "episodes": EPISODES, "videos": videos, **results, "target": TARGET, "ok": ok}
    print(json.dumps(summary))


def inlined(run: Run, folder: Path) -> Path:
    """The page with every film inside, made of the films that lie beside the other one."""
    media = folder / "report_media"
    films = make_films(run, choose(run, str(VIDEOS // TASKS)), media)
    path = folder / "inlined.html"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(render(Page((Side(run, films),), media, inline_media=True)))
    return path


if __name__ == "__main__":
    main()
