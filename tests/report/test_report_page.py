"""The page in a real browser: its numbers are the run file's, and every way through it works."""

import json
import signal
import subprocess
import sys
import time
from urllib.parse import quote

import pytest

from pytest_vla.registry import get_suite
from pytest_vla.report.html import build_report
from pytest_vla.run import read_run

MARKUP = "<script>document.title='broken'</script>"
ENDS = [("solved", None), ("unsolved", "constraint_violated"), ("error", "policy_error")]
DIALOG = "d => [d.getBoundingClientRect().left, d.getBoundingClientRect().right, d.scrollWidth - d.clientWidth]"
UNSOLVED = {"outcome": "unsolved", "reason": "step_limit"}


@pytest.fixture(scope="module")
def report(camera_folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(camera_folder)
        folder = tmp_path_factory.mktemp("a folder & more")
        run = read_run("run")
        return build_report(run, folder, video="2", trusted=[run])


@pytest.fixture(scope="module")
def comparison(camera_folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(camera_folder)
        output = tmp_path_factory.mktemp("pair") / "pair.html"
        runs = read_run("run"), read_run("other")
        return build_report(runs[0], output, runs[1], video="1", inline_media=True, trusted=runs)


def rows(page):
    return page.locator("#list .row")


def cell(page, task, column):
    """The link in the map's cell of a task, by the number of its column."""
    row = page.locator(".map tbody tr").filter(has=page.get_by_role("rowheader", name=task, exact=True))
    return row.locator("td").nth(column).locator("a")


def test_the_map_shows_the_numbers_of_the_run_file(report, open_page, camera_records):
    page = open_page(report)
    episodes = [record for record in camera_records if record["type"] == "episode"]
    for task in ("push", MARKUP):
        for column, partition in enumerate(("seen", "unseen_level")):
            group = [r["outcome"] for r in episodes if (r["task"], r["partition"]) == (task, partition)]
            shown = cell(page, task, column)
            solved, measured = group.count("solved"), len(group) - group.count("error")
            assert shown.get_attribute("data-solved") == str(solved)
            assert shown.get_attribute("data-measured") == str(measured)
            assert shown.get_attribute("data-errors") == str(group.count("error"))
            assert f"{100 * solved / measured:.0f}%" in shown.inner_text()
    solved = sum(record["outcome"] == "solved" for record in episodes)
    assert (
        f"{solved} of {sum(r['outcome'] != 'error' for r in episodes)} episodes"
        in page.locator(".headline").inner_text()
    )


def test_a_cell_opens_its_episodes(report, open_page):
    page = open_page(report)
    cell(page, "push", 1).click()
    assert rows(page).count() == 6
    assert set(rows(page).locator(".task").all_inner_texts()) == {"push"}
    assert set(rows(page).locator(".where").all_inner_texts()) == {"unseen level"}
    assert page.locator("#count").inner_text() == "6 of 24 episodes: 3 of 5 solved, 60.0% [23, 88], 1 errors"


def test_the_film_plays_and_its_frames_differ(report, open_page):
    page = open_page(report, "#episode=camera/push-seen-01")
    video = page.locator("dialog video")
    assert_plays(page, video)
    assert page.locator("dialog .prompt img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 16
    assert page.locator("dialog .strip img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
    assert "pytest-vla replay run/run.jsonl camera/push-seen-01" in page.locator("dialog .command").inner_text()
    assert page.locator("dialog .charts figcaption").all_inner_texts() == ["move[1]\n0.00200 … 0.0160"]
    assert page.locator("dialog .hint").inner_text() == "the same in every step: grip = 0, move[0] = 0.0200"


def assert_plays(page, video):
    video.evaluate(
        "v => new Promise((done, fail) => { v.onerror = () => fail(v.error.message);"
        " if (v.readyState >= 2) done(); else v.onloadeddata = done; })"
    )
    duration = video.evaluate("v => v.duration")
    assert duration > 1
    pictures = []
    for moment in (0, duration - 0.2):
        video.evaluate(
            "(v, t) => new Promise(done => { v.pause(); v.controls = false; v.onseeked = done; v.currentTime = t; })",
            moment,
        )
        page.wait_for_timeout(150)
        pictures.append(video.screenshot())
    assert pictures[0] != pictures[1]


def test_filters_narrow_the_list_and_are_kept_in_the_address(report, open_page):
    page = open_page(report)
    page.locator("[name=outcome]").select_option("unsolved")
    assert page.locator("#count").inner_text().startswith("8 of 24 episodes: 0 of 8 solved")
    page.locator("[name=partition]").select_option("seen")
    assert rows(page).count() == 4
    assert page.url.endswith("#outcome=unsolved&partition=seen")
    page.locator("[name=q]").fill("push-seen-03")
    assert rows(page).locator(".index").all_inner_texts() == ["3"]
    page.reload()
    assert rows(page).count() == 1
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#count").inner_text().startswith("24 of 24")


def test_only_filmed_episodes_are_shown_on_demand(report, open_page):
    page = open_page(report, "#film=yes")
    assert rows(page).locator(".film").all_inner_texts() == ["film"] * 4


def test_an_error_leads_from_its_reason_to_its_message(report, open_page):
    page = open_page(report)
    page.get_by_role("link", name="env error").click()
    assert rows(page).count() == 4
    rows(page).first.click()
    dialog = page.locator("dialog")
    assert "RuntimeError: the gripper is broken <b>& hot</b>" in dialog.locator("pre").first.inner_text()
    assert "ended in an error" in dialog.locator(".note").inner_text()


def test_deep_links_open_their_episode_and_going_back_closes_it(report, open_page):
    page = open_page(report, f"#episode={quote(f'camera/{MARKUP}-unseen_level-04')}")
    assert page.locator("dialog h2").inner_text() == f"camera/{MARKUP}-unseen_level-04"
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    page.wait_for_function("!location.hash.includes('episode')")
    page.go_back()
    page.locator("dialog").wait_for(state="visible")
    page.keyboard.press("ArrowRight")
    assert page.locator("dialog h2").inner_text().endswith("-05")


def test_a_link_to_an_episode_that_is_not_there_says_so(report, open_page):
    page = open_page(report, "#episode=camera/nothing-00")
    assert "no episode camera/nothing-00" in page.locator("dialog").inner_text()


def test_everything_can_be_reached_from_the_keyboard(report, open_page):
    page = open_page(report)
    cell(page, "push", 0).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("dialog h2").inner_text() == "camera/push-seen-01"


def test_a_task_named_like_markup_is_shown_as_text(report, open_page):
    page = open_page(report)
    assert page.title() == "test_camera:Half · pytest-vla report"
    assert page.get_by_role("rowheader", name=MARKUP, exact=True).count() == 1
    page.locator("[name=task]").select_option(MARKUP)
    assert set(rows(page).locator(".task").all_inner_texts()) == {MARKUP}
    rows(page).nth(1).click()
    assert "<i>square</i>" not in page.locator("dialog").inner_html()
    assert page.locator("script").filter(has_text="broken'</script>").count() == 0
    assert "</script>" not in page.locator("#data").text_content()


def test_two_runs_show_their_flips_side_by_side(comparison, open_page):
    page = open_page(comparison)
    assert page.locator("#comparison .figures").inner_text().split("\n")[:2] == ["4 gained", "4 lost"]
    page.locator("#comparison .figures .lost a").click()
    assert set(rows(page).locator(".index").all_inner_texts()) == {"1"}
    rows(page).first.click()
    sides = page.locator("dialog article")
    assert sides.count() == 2
    assert sides.nth(0).locator(".outcome").inner_text() == "unsolved"
    assert sides.nth(1).locator(".outcome").inner_text() == "solved"
    assert_plays(page, sides.nth(1).locator("video"))


def test_inlined_media_need_no_file_beside_the_page(comparison):
    assert [path.name for path in comparison.parent.iterdir()] == ["pair.html"]


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (820, "light"), (1280, "dark")])
def test_the_page_fits_its_window(report, open_page, width, scheme):
    page = open_page(report, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(18, 21, 26)") == (scheme == "dark")
    rows(page).nth(1).click()
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= width


def test_a_long_list_keeps_few_rows_in_the_page(open_page, camera_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(camera_folder)
    first, *others = (camera_folder / "run" / "run.jsonl").read_text().splitlines()
    episode = next(json.loads(line) for line in others if '"type": "episode"' in line)
    many = [json.dumps({**episode, "index": index}) for index in range(3000)]
    (tmp_path / "run.jsonl").write_text("\n".join([first, *many]) + "\n")
    page = open_page(build_report(read_run(tmp_path), tmp_path / "long.html", video="none"))
    assert rows(page).count() < 60
    page.locator("#list").focus()
    page.keyboard.press("End")
    page.locator("#list .row.active .index", has_text="2999").wait_for()
    assert rows(page).count() < 60


def test_the_report_of_a_killed_run_says_what_is_missing(camera_folder, tmp_path, open_page, monkeypatch):
    monkeypatch.chdir(camera_folder)
    run = tmp_path / "killed"
    slow = camera_folder / "slow.py"
    slow.write_text(
        "import time\nfrom test_camera import Half\n\nclass Slow(Half):\n    def reset(self, episode):\n"
        "        time.sleep(0.3)\n        return super().reset(episode)\n"
    )
    command = [sys.executable, "-m", "pytest", "test_camera.py", "--vla-policy=slow:Slow", f"--vla-run-dir={run}", "-q"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=camera_folder)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not run.exists() or len(read_lines(run)) < 6):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(read_run(run))
    page = open_page(build_report(read_run(run), tmp_path / "killed.html", video="none"))
    note = page.locator(".warning").inner_text()
    assert f"{done} of 24 planned episodes are here, {24 - done} are missing" in note
    assert "--vla-resume" in note


def read_lines(run):
    path = run / "run.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def test_a_damaged_line_is_named_and_the_rest_is_shown(camera_folder, tmp_path, open_page, monkeypatch):
    monkeypatch.chdir(camera_folder)
    lines = (camera_folder / "run" / "run.jsonl").read_text().splitlines()
    lines[4] = lines[4][:50] + "\x00 <b>torn</b>"
    (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n")
    page = open_page(build_report(read_run(tmp_path), tmp_path / "damaged.html", video="none"))
    assert "Line 5 of the run file is damaged" in page.locator(".warning").inner_text()
    assert page.locator("#count").inner_text().startswith("23 of 23 episodes")


HUNT = {
    "type": "hunt",
    "suite": "camera",
    "task": "push",
    "partition": "seen",
    "episodes": 60,
    "control": [5, 5],
    "causes": [{"perturbation": "camera.yaw=3", "failed": 5, "asked": 5, "index": 0}],
    "map": {
        "camera.yaw": {"fails_at": 3, "together_with": []},
        "sensor.blur": {"holds_to": 6, "seen": 2, "episodes": 3},
    },
}


def test_a_page_of_hunts_alone_has_no_empty_list_of_episodes(camera_folder, tmp_path, open_page):
    first = (camera_folder / "run" / "run.jsonl").read_text().splitlines()[0]
    (tmp_path / "run.jsonl").write_text(first + "\n" + json.dumps(HUNT) + "\n")
    page = open_page(build_report(read_run(tmp_path), tmp_path / "hunt.html", video="none"))
    assert page.locator(".cause").is_visible()
    assert not page.locator("#episodes").is_visible()
    assert page.locator("nav").inner_text().split() == ["Overview", "Brittleness", "Provenance"]


def test_perturbed_episodes_make_a_brittleness_map(camera_folder, tmp_path, open_page, monkeypatch):
    monkeypatch.chdir(camera_folder)
    lines = (camera_folder / "run" / "run.jsonl").read_text().splitlines()
    episodes = [json.loads(line) for line in lines if '"type": "episode"' in line]
    worse = [{**record, "perturbation": "camera.yaw=3", **UNSOLVED} for record in episodes[:5]]
    (tmp_path / "run.jsonl").write_text("\n".join([*lines, *map(json.dumps, [*worse, HUNT])]) + "\n")
    page = open_page(build_report(read_run(tmp_path), tmp_path / "map.html", video="none"))
    part = page.locator("#brittleness")
    assert "0% [0, 43] n=5" in part.locator("td.heat").first.inner_text().replace("\n", " ")
    assert "control 60%" in part.locator("td.heat").first.inner_text()
    assert part.locator(".entry").all_inner_texts() == ["fails at 3", "holds to 6 (n=3)"]
    assert (
        "camera.yaw=3 fails in 100% [48, 100] of 5 scenes, against 0% [0, 52] unperturbed"
        in part.locator(".cause").inner_text()
    )
    assert "replay" in part.locator(".cause pre").inner_text()
    part.locator("td.heat a").click()
    assert rows(page).count() == 5


def test_an_empty_run_still_makes_a_page(camera_folder, tmp_path, open_page):
    first = (camera_folder / "run" / "run.jsonl").read_text().splitlines()[0]
    (tmp_path / "run.jsonl").write_text(first + "\n")
    page = open_page(build_report(read_run(tmp_path), tmp_path / "empty.html"))
    assert "no episode was measured" in page.locator(".headline").inner_text()
    assert "No episode fits" in page.locator("#list").inner_text()


@pytest.fixture(scope="module")
def vima_page(tmp_path_factory):
    """A whole run of VIMA, its names as long as they are, some of it perturbed, of a policy with a long path."""
    from pytest_vla.episode import EpisodeKey, Result
    from pytest_vla.run import FILE_NAME, Record, RunWriter

    def make(*perturbations):
        folder = tmp_path_factory.mktemp("vima")
        policy = {"text": "/a/long/way/to/some/folder/with/vima_cross_attention.pt", "digest": "sha256:" + 64 * "a"}
        writer = RunWriter.create(folder / FILE_NAME, {"type": "run", "policy": policy})
        for number, (task, partition) in enumerate(get_suite("vima").select()):
            for perturbation in perturbations:
                outcome, reason = ENDS[number % 3]
                key = EpisodeKey("vima", task, partition, 0, perturbation)
                result = Result(key, outcome, reason, 200 * "x", steps=3, seconds=1.0, instruction="Put it there. " * 9)
                writer.write(Record(result).to_record())
        writer.close()
        return build_report(read_run(folder), folder / "report.html", video="none")

    return make


@pytest.mark.parametrize("width", [360, 420, 1280, 1400])
def test_a_page_of_long_names_fits_a_phone_and_a_desk(vima_page, open_page, width):
    page = open_page(vima_page("", "camera.yaw=-3,light.shadow=5,language.translation=3"), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows(page).nth(1).click()
    left, right, cut = page.eval_on_selector("dialog", DIALOG)
    assert left >= 0
    assert right <= width
    assert cut == 0, "nothing in an episode is cut off"


def test_the_success_table_shows_its_last_column_whole_at_1280_pixels(vima_page, open_page):
    page = open_page(vima_page(""), width=1280)
    assert page.evaluate("(e => e.scrollWidth - e.clientWidth)(document.querySelector('#map .scroll'))") == 0
