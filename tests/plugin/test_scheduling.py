"""Workers of any speed, that come late and are lost at any time: every item is run to its end once."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_vla.outline import Gone, Outline, Stretch
from pytest_vla.scheduling import BLOCK, BlockScheduling


class Worker:
    """A worker as xdist shows it: runs an item when it knows the next one, or that no other follows."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name, spec=SimpleNamespace(python=name))
        self.queue: list[int] = []
        self.shutting_down = False
        self.given_back: list[int] | None = None

    def __hash__(self) -> int:
        return id(self)

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.queue += indices

    def send_steal(self, indices: list[int]) -> None:
        free = self.queue[2:]
        self.given_back = list(indices) if {*indices} <= {*free} else []
        self.queue = [place for place in self.queue if place not in self.given_back]

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def can_run(self) -> bool:
        return len(self.queue) > 1 or (self.shutting_down and bool(self.queue))


def scheduling(count: int, workers: int, **options: Any) -> tuple[BlockScheduling, list[Worker]]:
    hook = SimpleNamespace(pytest_collectreport=lambda report: None, pytest_testnodedown=lambda node, error: None)
    made = BlockScheduling(SimpleNamespace(hook=hook), workers, **options)  # type: ignore[arg-type]
    nodes = [join(made, f"gw{number}", count) for number in range(workers)]
    made.schedule()
    return made, nodes


def join(made: BlockScheduling, name: str, count: int) -> Worker:
    node = Worker(name)
    made.add_node(node)  # type: ignore[arg-type]
    collect(made, node, count)
    return node


def collect(made: BlockScheduling, node: Worker, count: int) -> None:
    ids = [Stretch("t.py::test_t", "s", "1", "task", "all", range(count)).to_text()] if count else []
    made.pytest_xdist_node_collection_finished(node, ids)  # type: ignore[arg-type]
    assert len(ids) == count
    made.add_node_collection(node, ids)  # type: ignore[arg-type]


class Play:
    """xdist's loop over workers that do what the drawn numbers say."""

    def __init__(self, count: int, workers: int, in_order: bool = False) -> None:
        self.count, self.done = count, Counter[int]()
        self.order: list[int] = []
        self.lost_for_good: list[str] = []
        self.made, self.nodes = scheduling(count, workers, in_order=in_order)
        self.begun = len(self.nodes)

    def step(self, number: int, fate: str) -> None:
        if not self.nodes:
            self.replace()
        node = self.nodes[number % len(self.nodes)]
        if fate == "lost":
            self.nodes.remove(node)
            lost = self.made.remove_node(node)  # type: ignore[arg-type]
            self.lost_for_good += [lost] if lost else []
            self.replace()
        elif fate == "join":
            self.replace()
        elif node.given_back is not None:
            back, node.given_back = node.given_back, None
            self.made.remove_pending_tests_from_node(node, back)  # type: ignore[arg-type]
        elif node.can_run:
            place = node.queue.pop(0)
            self.done[place] += 1
            self.order.append(place)
            self.made.mark_test_complete(node, place)  # type: ignore[arg-type]

    def replace(self) -> None:
        self.nodes.append(join(self.made, f"gw{self.begun}", self.count))
        self.begun += 1
        self.made.schedule()

    def finish(self) -> None:
        for _ in range(20 * self.count + 200):
            if self.made.tests_finished:
                for node in self.nodes:
                    node.shutdown()
            for number in range(len(self.nodes)):
                self.step(number, "run")
            if not any(node.queue for node in self.nodes) and self.made.tests_finished:
                return
        raise AssertionError("it does not end")


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 120), st.integers(1, 6), st.booleans(), st.data())
def test_every_item_is_completed_once_however_workers_come_and_go(count, workers, in_order, data):
    play = Play(count, workers, in_order)
    fates = st.tuples(st.integers(0, 9), st.sampled_from(["run"] * 12 + ["lost", "join"]))
    for number, fate in data.draw(st.lists(fates, max_size=150)):
        play.step(number, fate)
    play.finish()
    lost = {int(nodeid[-3:-1]) if nodeid[-4] == "-" else int(nodeid[-4:-1]) for nodeid in play.lost_for_good}
    assert {*play.done} | lost == {*range(count)}
    assert not {*play.done} & lost
    assert max(play.done.values(), default=1) == 1


def test_an_episode_that_ends_two_workers_is_not_tried_again():
    made, (one, two) = scheduling(10, 2)
    first = one.queue[0]
    assert made.remove_node(one) is None
    third = join(made, "gw2", 10)
    made.schedule()
    holder = next(node for node in (two, third) if first in node.queue)
    while holder.queue[0] != first:
        made.mark_test_complete(holder, holder.queue.pop(0))
    assert made.remove_node(holder) == f"t.py::test_t[task-all-{first:02d}]"


def test_an_episode_whose_result_is_written_is_neither_run_again_nor_blamed():
    lost = []
    made, (one, two) = scheduling(10, 2, written=lambda worker, nodeid: True, lost=lambda *which: lost.append(which))
    running = one.queue[0]
    assert made.remove_node(one) is None
    assert running not in two.queue
    assert lost == [("gw0", f"t.py::test_t[task-all-{running:02d}]")]


def test_workers_begin_in_parts_of_their_own_and_hold_little():
    _, nodes = scheduling(100_000, 4)
    assert [node.queue[0] for node in nodes] == [0, 25_000, 50_000, 75_000]
    assert all(len(node.queue) <= BLOCK + 2 for node in nodes)


def test_early_stopping_hands_episodes_out_as_they_stand():
    play = Play(40, 3, in_order=True)
    for _ in range(40):
        for number in range(3):
            play.step(number, "run")
    assert all(abs(place - position) <= 6 for position, place in enumerate(play.order))


def test_a_worker_that_joined_is_waited_for_and_its_loss_costs_nothing():
    made, (one,) = scheduling(40, 1)
    made.joining = {"late"}
    late = join(made, "late", 40)
    made.schedule()
    assert late.queue
    held = [*late.queue]
    made.remove_pending_tests_from_node(late, Gone("lost"))  # type: ignore[arg-type]
    while one.can_run or not made.tests_finished:
        if one.can_run:
            made.mark_test_complete(one, one.queue.pop(0))
    one.shutdown()
    while one.queue:
        held = [place for place in held if place != one.queue[0]]
        made.mark_test_complete(one, one.queue.pop(0))
    assert not made.has_pending


def test_a_worker_that_collected_something_else_is_refused():
    said: list[pytest.CollectReport] = []
    made, _ = scheduling(10, 1)
    made.config = SimpleNamespace(hook=SimpleNamespace(pytest_collectreport=lambda report: said.append(report)))  # type: ignore[assignment]
    other = Worker("gw9")
    made.add_node(other)  # type: ignore[arg-type]
    collect(made, other, 11)
    assert other.shutting_down
    assert "collected 11 items, others 10" in str(said[0].longrepr)
    assert Outline([]).to_ids() == []


def crash(made: BlockScheduling, node: Worker) -> str | None:
    """Lose a worker; the item that it lost for good."""
    return made.remove_node(node)  # type: ignore[arg-type]


def test_an_episode_that_loses_its_workers_with_one_machine_is_not_to_blame() -> None:
    made, (first, second, third) = scheduling(9, 3)
    for node, machine in ((first, "a"), (second, "a"), (third, "b")):
        made._machines[node] = machine  # type: ignore[index]
    place = first.queue[0]
    assert crash(made, first) is None
    made._sent[second].insert(0, place)  # type: ignore[index]
    assert crash(made, second) is None
    made._sent[third].insert(0, place)  # type: ignore[index]
    assert crash(made, third) == f"t.py::test_t[task-all-{place:02d}]"


def test_an_episode_that_ends_its_workers_on_a_lone_machine_is_given_up() -> None:
    made, nodes = scheduling(9, 6)
    lost = []
    for node in nodes:
        made._machines[node] = "a"  # type: ignore[index]
        made._sent[node].insert(0, 0)  # type: ignore[index]
        lost.append(crash(made, node))
    assert lost[:3] == [None] * 3
    assert lost[3] is not None


def test_a_worker_that_is_gone_before_it_is_known_costs_nothing() -> None:
    made, (first, second) = scheduling(40, 2)

    def gone(indices: list[int]) -> None:
        raise OSError("cannot send (already closed?)")

    first.send_runtest_some = first.send_steal = gone  # type: ignore[method-assign]
    while len(first.queue) > 1:
        made.mark_test_complete(first, first.queue.pop(0))  # type: ignore[arg-type]
    held = {*made._sent[first]}  # type: ignore[index]
    crash(made, first)
    left = {*made._sent[second]} | {place for part in (*made._free, *made._parts.values()) for place in part}  # type: ignore[index]
    assert held - left == set()
