"""The gallery of any suite: a page for each task, or one sheet of every cell asked for."""

import pytest

pytest.importorskip("mujoco")

from PIL import Image

from pytest_vla.registry import get_suite
from pytest_vla.report.gallery import GAP_PX, draw


def test_a_sheet_is_one_picture_of_all_cells_asked_for(tmp_path):
    (path,) = draw(get_suite("bomb"), tmp_path, ["place_stone"], ["unperturbed", "camera"], sheet="both")
    assert path == tmp_path / "both.png"
    assert Image.open(path).size == (2 * 256 + GAP_PX, 256)


def test_pages_are_named_by_task_and_by_partition_where_that_is_asked_for(tmp_path):
    suite = get_suite("bomb")
    assert [path.name for path in draw(suite, tmp_path, ["capture"])] == ["capture.png"]
    assert [path.name for path in draw(suite, tmp_path, ["capture"], ["table"])] == ["capture-table.png"]
