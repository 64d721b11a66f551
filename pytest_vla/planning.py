"""What this session runs, in which order: items that pytest made, or in a worker an outline of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_vla.collection import episode_of, hunts_in, parametrize
from pytest_vla.episode import EpisodeKey
from pytest_vla.outline import Outline, Stretch, Wanted, keys_of, regrouped, thinned, without
from pytest_vla.registry import get_suite
from pytest_vla.run import KeySet, Plan, Unrun
from pytest_vla.suite import Suite
from pytest_vla.unmade import Outlined, Unmade, may_stay_unmade, may_stay_unmade_in

if TYPE_CHECKING:
    from pytest_vla.gate.plugin import GateHooks


class Planning:
    """Of one process, while it collects."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.left_out = KeySet()
        """Episodes of other shards."""
        self.unavailable: list[Unrun] = []
        """Episodes of suites that cannot run here."""
        self._stretches: dict[str, list[Stretch]] = {}
        """By benchmark function, where its items are not made."""
        self._arranged: list[Stretch] = []

    def add(self, metafunc: pytest.Metafunc, wanted: Wanted, done: KeySet) -> None:
        """Give a benchmark function its items, or one that stands for them all."""
        function = metafunc.definition.nodeid
        if not (may_stay_unmade(self.config) and may_stay_unmade_in(metafunc)):
            parametrize(metafunc, [key for key in wanted.episodes() if not len(done) or key not in done])
            return
        stretches = [each for each in without(wanted.stretches(function), done) if len(each)]
        parametrize(metafunc, [stretches[0].key(0)] if stretches else [])
        if stretches:
            self._stretches[function] = stretches

    def arrange(
        self, items: list[pytest.Item], gate: GateHooks | None, lacks: Callable[[EpisodeKey], str | None]
    ) -> None:
        """Refuse to measure an episode twice; drop other shards' items, and those that cannot run here but one."""
        stretches = [each for item in items for each in self._unmade(item)]
        made = [(item, key) for item in items if (key := episode_of(item)) is not None and not self._unmade(item)]
        _check_unique(stretches, made)
        if gate is not None and (stretches or made):
            self._take_shard(items, stretches, made, gate)
        if stretches:
            self._arranged, self.unavailable = thinned(stretches, lacks, _lacks_by_task)
        if made and not self.config.option.collectonly:
            self.unavailable += thin_out(items, lacks, {id(item) for item, _ in made})

    def _unmade(self, item: pytest.Item) -> list[Stretch]:
        return self._stretches.get(_function(item), []) if self._stretches else []

    def _take_shard(
        self,
        items: list[pytest.Item],
        stretches: list[Stretch],
        made: list[tuple[pytest.Item, EpisodeKey]],
        gate: GateHooks,
    ) -> None:
        """The items in the order the gate wants them, without those of other shards."""
        if stretches and not made:
            before = keys_of(stretches)
            stretches[:] = gate.arrange_stretches(stretches)
            self.left_out = before - keys_of(stretches)
            return
        keys = [key for _, key in made] + [key for each in stretches for key in each.episodes()]
        owners = [_function(item) for item, _ in made] + [each.function for each in stretches for _ in range(len(each))]
        places = gate.arrange(keys)
        mine = {*places}
        dropped = [made[place][0] for place in range(len(made)) if place not in mine]
        if dropped:
            self.config.hook.pytest_deselected(items=dropped)
        self.left_out = KeySet.of(key for place, key in enumerate(keys) if place not in mine)
        others = [item for item in items if episode_of(item) is None]
        items[:] = others + [made[place][0] for place in places if place < len(made)]
        later = [(owners[place], keys[place]) for place in places if place >= len(made)]
        stretches[:] = regrouped(later)

    # --- once everything is arranged ----------------------------------------------------------------------------------

    def outline(self, items: Iterable[pytest.Item]) -> Outline | None:
        """The items by their stretches; None where all were made."""
        return Outline(self._entries(items)) if self._stretches else None

    def _entries(self, items: Iterable[pytest.Item]) -> Iterator[Stretch | str]:
        """Ordinary items as they stand; episodes where their function's first one stood, or behind, as arranged."""
        waiting = True
        for item in items:
            if not self._unmade(item):
                yield item.nodeid
            elif waiting:
                waiting = False
                yield from self._arranged

    def shown_to_xdist(self, session: pytest.Session) -> list[pytest.Item]:
        """What stands for the items while xdist tells the controller their ids."""
        made = {item.nodeid: item for item in session.items}
        outline = self.outline(session.items)
        assert outline is not None
        return [made[e] if isinstance(e, str) else Outlined.of(session, e) for e in outline.entries]

    def unmade(self, items: Iterable[pytest.Item]) -> Unmade:
        items = list(items)
        outline = self.outline(items)
        assert outline is not None
        return Unmade(outline, {_function(item) if self._unmade(item) else item.nodeid: item for item in items})

    def plan(self, items: Iterable[pytest.Item], done: KeySet) -> Plan:
        """What this session sets out to do, with what a resumed run has; a shard leaves some of it to others."""
        made = [item for item in items if not self._unmade(item)]
        episodes = KeySet.of(key for item in made if (key := episode_of(item)) is not None)
        absent = KeySet.of(key for each in self.unavailable for key in each.keys)
        part = done | absent | episodes | keys_of(self._arranged)
        return Plan(part, part | self.left_out if len(self.left_out) else part, hunts_in(made))


def thin_out(items: list[pytest.Item], reason: Callable[[EpisodeKey], str | None], among: set[int]) -> list[Unrun]:
    """Of what cannot run here for one reason one item stays, which is skipped and says it; what others would run."""
    absent: dict[str, list[EpisodeKey]] = {}
    kept = []
    for item in items:
        key = episode_of(item) if id(item) in among else None
        why = reason(key) if key is not None else None
        if key is not None and why is not None:
            if why in absent:
                absent[why].append(key)
                continue
            absent[why] = []
        kept.append(item)
    items[:] = kept
    return [Unrun("unavailable", why, KeySet.of(keys)) for why, keys in absent.items() if keys]


def _check_unique(stretches: list[Stretch], made: list[tuple[pytest.Item, EpisodeKey]]) -> None:
    """An episode is measured once: two functions that collect the same key would overwrite each other's result."""
    seen: dict[EpisodeKey, str] = {}
    for item, key in made:
        other = seen.setdefault(key, item.nodeid)
        if other != item.nodeid:
            raise pytest.UsageError(f"episode {key} is collected twice: by {other} and by {item.nodeid}")
    before = KeySet.of(seen)
    for number, each in enumerate(stretches):
        mine = keys_of([each])
        twice = next(iter(mine - (mine - before)), None)
        if twice is not None:
            owner = next((o.function for o in stretches[:number] if twice in keys_of([o])), "") + f"[{twice.id}]"
            first = seen.get(twice, owner)
            raise pytest.UsageError(
                f"episode {twice} is collected twice: by {first} and by {each.function}[{twice.id}]"
            )
        before |= mine


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _lacks_by_task(suite: str) -> bool:
    return type(get_suite(suite)).lacks is Suite.lacks
