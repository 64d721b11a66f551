"""The folder of a run: where it is, what is left of one that came to nothing, and which one is resumed."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from pytest_vla.run.file import RunFileError
from pytest_vla.run.folder import RunFolder, chosen_folder, newest_run


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *types, created="2026-01-01"):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"type": "run", "created": created}, *({"type": each} for each in types)]
    (folder / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize("left", [None, [], ["end"]])
def test_a_folder_that_came_to_nothing_is_gone_with_its_parents(left):
    held = RunFolder.hold(Path("a/b/run"))
    if left is not None:
        write(held.path, *left)
    (held.path / "log").write_text("words")
    held.close()
    assert not Path("a").exists()


@pytest.mark.parametrize("kind", ["episode", "probe", "plan", "hunt", "hunt_start", "failure", "unrun"])
def test_a_folder_with_a_trace_of_a_run_stays(kind):
    held = RunFolder.hold(Path("a/run"))
    write(held.path, kind)
    held.close()
    assert held.file.exists()


def test_a_folder_that_was_there_stays_and_so_does_its_file():
    write(Path("old"))
    held = RunFolder.hold(Path("old"))
    held.close()
    assert held.file == Path("old/run.jsonl")
    assert held.file.exists()
    Path("empty").mkdir()
    held = RunFolder.hold(Path("empty"))
    write(held.path)
    held.close()
    assert [each.name for each in Path("empty").iterdir()] == []


def test_a_folder_that_others_wrote_in_stays():
    held = RunFolder.hold(Path("a/run"))
    Path("a/notes").write_text("mine")
    held.close()
    assert Path("a/notes").exists()
    assert not Path("a/run").exists()


def test_a_folder_is_held_by_one_and_free_again_after_it():
    held = RunFolder.hold(Path("run"))
    with pytest.raises(RunFileError):
        RunFolder.hold(Path("run"))
    write(held.path, "plan")
    held.close()
    RunFolder.hold(Path("run")).close()


def test_a_place_that_cannot_be_written_is_one_clear_error():
    Path("file").write_text("")
    with pytest.raises(RunFileError, match=r"^cannot write the run file 'file/run/run.jsonl': "):
        RunFolder.hold(Path("file/run"))


def test_damaged_lines_are_passed_over():
    write(Path("vla-runs/a"), "episode")
    file = Path("vla-runs/a/run.jsonl")
    file.write_bytes(b'{"type": "run"}\nnot json\n[1]\n{"type": "episode"}\n')
    assert newest_run() == file.parent


def test_the_folder_is_the_one_that_was_named():
    assert chosen_folder("somewhere/else", "name", True) == Path("somewhere/else")
    assert chosen_folder(None, "name", True) == Path("vla-runs/name")


@pytest.mark.parametrize("name", ["a/b", "7", ".", "..", "/a", ""])
def test_names_that_would_be_something_else_are_refused(name):
    with pytest.raises(RunFileError, match="cannot be called"):
        chosen_folder(None, name, False)


def test_a_new_run_is_called_by_its_time():
    before = datetime.now()
    path = chosen_folder(None, None, False)
    assert path.parent == Path("vla-runs")
    assert before <= datetime.strptime(path.name, "%Y-%m-%d_%H-%M-%S_%f") <= datetime.now()


@pytest.mark.parametrize("kind", ["episode", "probe"])
def test_resumed_is_the_newest_run_with_results(kind):
    write(Path("vla-runs/b"), kind, created="2026-01-02")
    write(Path("vla-runs/a"), kind, created="2026-01-01")
    write(Path("vla-runs/c"), "plan", "end", created="2026-01-03")
    assert chosen_folder(None, None, True) == newest_run() == Path("vla-runs/b")


def test_nothing_to_resume_is_one_clear_error():
    write(Path("vla-runs/c"), "plan")
    with pytest.raises(RunFileError, match="nothing to resume: there is no run with episodes in 'vla-runs/'"):
        newest_run()


def test_a_run_file_that_is_nested_without_end_is_one_of_unknown_age():
    write(Path("vla-runs/b"), "episode")
    deep = write(Path("vla-runs/a"), "episode") / "run.jsonl"
    deep.write_text("[" * 100_000 + "\n" + '{"type": "episode"}\n')
    assert newest_run() == Path("vla-runs/b")
