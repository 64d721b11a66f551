"""Hands items out to xdist's workers, block by block, so that workers may come late, go early and lose nothing.

An xdist scheduler by its public hook. What a worker collected arrives as an outline, which is small; who holds which
items is known here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_vla.outline import Gone, Outline

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController as Node

BLOCK = 16  # items a worker is sent at once: enough that it never waits for the controller
ENOUGH = 2  # a worker begins an item when it knows the next one, so that it can keep what both need
MOST_LOSSES = 4  # of one item, with workers of one machine
SHARES = 4  # a block is at most this part of what a worker still may expect: the last ones are small


class BlockScheduling:
    """Every worker begins in a part of the list of its own, so that it keeps its environment; who has done with its
    part takes half of the longest one left. The end is evened out by taking back what was sent and not begun.

    `in_order` hands the items out one by one as they stand. `first` is how many workers must have collected before it
    begins. `written` says whether the results of a worker's item are kept already; `lost` hears of an item whose worker
    was lost in it, and which is given out once more unless they are.
    """

    def __init__(
        self,
        config: pytest.Config,
        first: int,
        in_order: bool = False,
        written: Callable[[str, str], bool] = lambda worker, nodeid: False,
        lost: Callable[[str, str], None] = lambda worker, nodeid: None,
    ) -> None:
        self.config, self.first, self.in_order = config, first, in_order
        self.written, self.lost = written, lost
        self.outline: Outline | None = None
        self._sent: dict[Node, list[int]] = {}
        """What each worker holds, the one that it runs first."""
        self._parts: dict[Node, range] = {}
        """What each worker is to get later, by place in the list."""
        self._free: list[range] = []
        """What nobody is to get yet."""
        self._collected: set[Node] = set()
        self.joining: set[str] = set()
        """The commands of workers that xdist does not wait for: they run their last item before the others do."""
        self._joined: set[Node] = set()
        self.machine: Callable[[Node], str] = lambda node: str(node.gateway.id)
        """Where a worker is: those of one machine may be lost one after the other, and are lost together."""
        self._machines: dict[Node, str] = {}
        self._losses: dict[int, list[str]] = {}
        """The machines on which an item lost its worker."""
        self._begun = False
        self._outlines: dict[Node, Outline] = {}
        self._asked: Node | None = None
        """Who was asked to give back what it has not begun."""

    # --- what xdist asks ----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Node]:
        return list(self._sent)

    @property
    def collection_is_completed(self) -> bool:
        return self.outline is not None and (len(self._collected) >= self.first or self._begun)

    @property
    def tests_finished(self) -> bool:
        if not self.collection_is_completed or self._left() or self._asked is not None:
            return False
        return all(len(sent) < (1 if node in self._joined else ENOUGH) for node, sent in self._sent.items())

    @property
    def has_pending(self) -> bool:
        return self._begun and (self._left() > 0 or any(self._sent.values()))

    def add_node(self, node: Node) -> None:
        self._sent[node] = []
        self._machines[node] = self.machine(node)
        if node.gateway.spec.python in self.joining:
            self._joined.add(node)

    def pytest_xdist_node_collection_finished(self, node: Node, ids: list[str]) -> None:
        """A worker sent its outline; xdist counts the items that it stands for."""
        outline = self._outlines[node] = Outline.from_ids(ids)
        ids[:] = [""] * len(outline)

    def add_node_collection(self, node: Node, collection: Sequence[str]) -> None:
        outline = self._outlines.pop(node)
        if self.outline is None:
            self.outline = outline
        elif outline != self.outline:
            self._refuse(node, outline)
            return
        self._collected.add(node)

    def schedule(self) -> None:
        """Begin, or let a worker in that came later."""
        assert self.outline is not None
        if not self._begun:
            self._give_back(range(len(self.outline)))
            self._begun = True
            if not self.in_order:
                self._share_out(len(self.outline), [node for node in self._sent if node in self._collected])
        self._even_out()

    def mark_test_complete(self, node: Node, item_index: int, duration: float = 0) -> None:
        self._sent[node].remove(item_index)
        self._fill(node)
        if len(self._sent[node]) < ENOUGH:
            self._even_out()

    def mark_test_pending(self, item: str) -> None:
        place = self.outline.place(item) if self.outline is not None else None
        assert place is not None
        self._free.insert(0, range(place, place + 1))
        self._even_out()

    def remove_pending_tests_from_node(self, node: Node, indices: Sequence[int]) -> None:
        """A worker gave back what it had not begun, or is gone and was one that xdist does not look after."""
        if isinstance(indices, Gone):
            self._farewell(node, indices.error)
            return
        self._asked = None
        back = {*indices}
        self._sent[node] = [place for place in self._sent[node] if place not in back]
        for places in reversed([*_ranges(sorted(back))]):
            self._give_back(places)
        self._even_out()

    def remove_node(self, node: Node) -> str | None:
        """A worker is gone: what it held is handed out again, what it ran as well unless that was lost before.

        Returns the item that is lost for good.
        """
        sent, part = self._sent.pop(node), self._parts.pop(node, range(0))
        self._collected.discard(node)
        if self._asked is node:
            self._asked = None
        for places in reversed([*_ranges(sent[1:]), part]):
            self._give_back(places)
        crashed = self._lost(node, sent[0]) if sent else None
        if self._begun:
            self._even_out()
        return crashed

    def _farewell(self, node: Node, error: object) -> None:
        """What xdist does when a worker of its own ends."""
        self.config.hook.pytest_testnodedown(node=node, error=error)
        self._joined.discard(node)
        lost = self.remove_node(node) if node in self._sent else None
        if lost is not None:
            session: Any = self.config.pluginmanager.get_plugin("dsession")
            session.handle_crashitem(lost, node)

    # --- who gets what ------------------------------------------------------------------------------------------------

    def _left(self) -> int:
        return sum(map(len, self._free)) + sum(map(len, self._parts.values()))

    def _lost(self, node: Node, place: int) -> str | None:
        """An episode is run once more, unless it ended its worker on two machines; other items may not bear that.

        Without a cluster each worker counts as a machine of its own. What was measured already is neither run again nor
        blamed: its worker had only to clean up.
        """
        assert self.outline is not None
        nodeid, is_written = self.outline.nodeid(place), self.written(node.gateway.id, self.outline.nodeid(place))
        losses = self._losses.setdefault(place, [])
        losses.append(self._machines[node])
        is_to_blame = len({*losses}) > 1 or len(losses) >= MOST_LOSSES
        if self.outline.key(place) is None or (is_to_blame and not is_written):
            return nodeid
        if not is_written:
            self._free.insert(0, range(place, place + 1))
        self.lost(node.gateway.id, nodeid)
        return None

    def _share_out(self, count: int, nodes: Sequence[Node]) -> None:
        """Parts of the list that follow each other, equally long."""
        ends = [count * number // len(nodes) for number in range(len(nodes) + 1)]
        self._parts = {node: range(ends[number], ends[number + 1]) for number, node in enumerate(nodes)}
        self._free = []

    def _even_out(self) -> None:
        """Send every worker what it lacks; where nothing is left, take from the fullest, or let the idle ones end."""
        up = [node for node in self._sent if node in self._collected and not node.shutting_down]
        for _ in range(ENOUGH):  # one each before a second one for anybody
            for node in up:
                if len(self._sent[node]) < ENOUGH:
                    self._send(node, self._take(node, 1))
        for node in up:
            self._fill(node)
        idle = [node for node in up if len(self._sent[node]) < ENOUGH]
        if not idle or self._asked is not None:
            return
        fullest = max(up, key=lambda node: len(self._sent[node]))
        spare = min(len(self._sent[fullest]) // 2, len(self._sent[fullest]) - ENOUGH)
        if spare > 0:
            self._asked = fullest
            with suppress(OSError):
                fullest.send_steal(self._sent[fullest][-spare:])
            return
        for node in idle:
            if node is not self._last_of_xdist(up):
                node.shutdown()  # a worker runs its last item when it hears that no other follows

    def _last_of_xdist(self, up: Sequence[Node]) -> Node | None:
        """xdist gives up when none of its own workers is left: one stays while those that joined still run."""
        if not any(self._sent.get(node) for node in self._joined):
            return None
        return next((node for node in up if node not in self._joined), None)

    def _fill(self, node: Node) -> None:
        """Before a worker has done what it was sent, send it the next block."""
        block = 1 if self.in_order else min(BLOCK, self._left() // (SHARES * len(self._sent)))
        if not node.shutting_down and len(self._sent[node]) <= max(block // 2, ENOUGH - 1):
            self._send(node, self._take(node, block))

    def _take(self, node: Node, count: int) -> list[int]:
        """The next items for a worker: what was lost, its own part, what nobody has, or half of the longest part."""
        taken: list[int] = []
        while len(taken) < count:
            need = count - len(taken)
            if self._free and (self.in_order or len(self._free[0]) <= BLOCK):
                first = self._free.pop(0)
                taken += first[:need]
                self._give_back(first[need:])
            elif part := self._parts.get(node):
                taken += part[:need]
                self._parts[node] = part[need:]
            elif part := (self._free.pop(0) if self._free else self._half_of_longest()):
                self._parts[node] = part
            else:
                break
        return taken

    def _give_back(self, places: range) -> None:
        """Single items and short stretches are the next to be taken."""
        if places and (self.in_order or len(places) <= BLOCK):
            self._free.insert(0, places)
        elif places:
            self._free.append(places)

    def _half_of_longest(self) -> range:
        """Take it from the end of its owner's part: the owner goes on where it is."""
        owner = max(self._parts, key=lambda node: len(self._parts[node]), default=None)
        if owner is None or not self._parts[owner]:
            return range(0)
        part = self._parts[owner]
        keep = len(part) // 2 if owner in self._sent else 0
        self._parts[owner] = part[:keep]
        return part[keep:]

    def _send(self, node: Node, places: list[int]) -> None:
        if places:
            self._sent[node] += places
            with suppress(OSError):  # it is gone: that is on its way to us, and they are handed out again then
                node.send_runtest_some(places)

    def _refuse(self, node: Node, outline: Outline) -> None:
        """A worker that collected something else cannot take part; the run says so and fails."""
        assert self.outline is not None
        pairs = zip(self.outline.to_ids(), outline.to_ids(), strict=False)
        first = next((f": {one!r} there is {other!r} here" for one, other in pairs if one != other), "")
        text = f"worker {node.gateway.id} collected {len(outline)} items, others {len(self.outline)}{first}"
        report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[])
        self.config.hook.pytest_collectreport(report=report)
        node.shutdown()


def _ranges(places: Sequence[int]) -> Iterator[range]:
    """Items that follow each other, together."""
    start = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or places[end] != places[end - 1] + 1:
            yield range(places[start], places[end - 1] + 1)
            start = end
