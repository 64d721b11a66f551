"""Items of a worker that are made when they are handed out: xdist sees a list that is as long as the plan."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest

from pytest_vla.outline import Outline, Stretch

KEPT = 64
"""Items made that are kept: the one that runs, the next, and what a suite may play along with them."""

# Hooks that see every item, and in which files those are that do not need to: they look at marks, which all episodes
# of a function share, or do something only with an option of theirs (see `SELECTING`).
LOOKING = ("pytest_collection_modifyitems", "pytest_itemcollected", "pytest_collection_finish")
HARMLESS = ("_pytest.", "xdist.", "__channelexec__", "pytest_vla.", "syrupy", "_hypothesis_pytestplugin", "anyio.")
SELECTING = ("keyword", "lf", "failedfirst", "newfirst", "stepwise", "deselect", "collectonly", "setupplan")

WHOLE_PLAN = "vla_outline"
"""What the controller tells its workers: an outline of the items is enough."""


def may_stay_unmade(config: pytest.Config) -> bool:
    """Whether nobody in this worker looks at the items one by one before they run."""
    if not getattr(config, "workerinput", {}).get(WHOLE_PLAN):
        return False
    if any(config.getoption(name, None) for name in SELECTING) or any("[" in str(arg) for arg in config.args):
        return False
    impls = [impl for name in LOOKING for impl in getattr(config.hook, name).get_hookimpls()]
    return all(impl.function.__module__.startswith(HARMLESS) for impl in impls)


def may_stay_unmade_in(metafunc: pytest.Metafunc) -> bool:
    """Whether this benchmark function has no other parameters than its episodes."""
    places = [metafunc.module, metafunc.cls]
    if any(hasattr(place, "pytest_generate_tests") for place in places if place is not None):
        return False
    impls = metafunc.config.hook.pytest_generate_tests.get_hookimpls()
    return all(impl.function.__module__.startswith(HARMLESS) for impl in impls) and not any(
        metafunc.definition.iter_markers("parametrize")
    )


class Unmade(list[pytest.Item]):
    """As long as its outline; an item is made when it is asked for, as pytest made the first of its function."""

    def __init__(self, outline: Outline, items: Mapping[str, pytest.Item]) -> None:
        super().__init__()
        self.outline = outline
        self._items = items
        """Ordinary items by node id, and the first item of each benchmark function by the function."""
        self._made: OrderedDict[int, pytest.Item] = OrderedDict()

    def __len__(self) -> int:
        return len(self.outline)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place not in self._made:
            self._made[place] = self._make(place)
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(place)
        return self._made[place]

    def __iter__(self) -> Any:
        return map(self.__getitem__, range(len(self)))

    def place(self, item: pytest.Item) -> int:
        """Where an item is that was handed out."""
        return next(place for place, made in reversed(self._made.items()) if made is item)

    def _make(self, place: int) -> pytest.Item:
        number, inside = self.outline.find(place)
        entry = self.outline.entries[number]
        if isinstance(entry, str):
            return self._items[entry]
        first = self._items[entry.function]
        assert isinstance(first, pytest.Function)
        key = entry.key(inside)
        named: dict[str, Any] = {
            each.name: [key.id] for each in fields(first.callspec) if _is_id(getattr(first.callspec, each.name))
        }
        callspec = replace(first.callspec, params={"episode": key}, indices={"episode": place}, **named)
        name = f"{first.originalname}[{key.id}]"
        return pytest.Function.from_parent(
            first.parent, name=name, callspec=callspec, keywords={key.id: True}, originalname=first.originalname
        )


def _is_id(value: Any) -> bool:
    """Whether this is the part of an item's parameters that names them: pytest has no public name for it."""
    return isinstance(value, Sequence) and len(value) == 1 and isinstance(value[0], str)


class Outlined(pytest.Item):
    """Stands for a stretch of episodes while xdist sends the controller what was collected."""

    @classmethod
    def of(cls, session: pytest.Session, stretch: Stretch) -> Outlined:
        made: Outlined = cls.from_parent(session, name="episodes")
        made.stretch = stretch
        return made

    stretch: Stretch

    @property
    def nodeid(self) -> str:
        return self.stretch.to_text()

    def runtest(self) -> None:
        raise RuntimeError("an outline is no test")
