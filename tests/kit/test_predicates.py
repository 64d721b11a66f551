"""Predicates over made-up moments: no simulator is needed to say what is done."""

from dataclasses import dataclass, field

from pytest_vla.kit.predicates import (
    CountIn,
    FailIn,
    Held,
    In,
    JointMoved,
    NoneHeld,
    NotIn,
    ThingJudge,
    Trigger,
    all_in,
    all_of,
    all_zones,
    any_of,
    ordered,
)


@dataclass
class Moment:
    """Distances from things to zones, how far joints went, and what is held."""

    away: dict = field(default_factory=dict)
    joints: dict = field(default_factory=dict)
    held: frozenset = frozenset()

    def overlap(self, thing, zone):
        return self.distance(thing, zone) <= 0

    def distance(self, thing, zone):
        return self.away.get((thing, zone), 1.0)

    def moved(self, joint):
        return self.joints.get(joint, 0.0)


def holds(predicate, moment):
    return predicate.holds(moment, {})


IN, OUT = Moment({("ball", "hoop"): 0.0}), Moment({("ball", "hoop"): 0.1})


def test_in_and_not_in_are_opposites():
    for moment in (IN, OUT):
        assert holds(In("ball", "hoop"), moment) != holds(NotIn("ball", "hoop"), moment)


def test_a_joint_counts_either_way_unless_it_says_which():
    opened, closed = Moment(joints={"door": 0.7}), Moment(joints={"door": -0.7})
    assert holds(JointMoved("door", 0.5), opened)
    assert holds(JointMoved("door", 0.5), closed)
    assert not holds(JointMoved("door", 0.5, -1), opened)
    assert holds(JointMoved("door", 0.5, -1), closed)
    assert not holds(JointMoved("door", 0.7), opened), "the threshold must be exceeded"


def test_what_is_held():
    held = Moment(held=frozenset({"lid"}))
    assert holds(Held("lid"), held)
    assert not holds(Held("pan"), held)
    assert not holds(NoneHeld(), held)
    assert holds(NoneHeld(), Moment())


def test_all_any_and_enough_of_them():
    moment = Moment({("a", "box"): 0.0, ("b", "box"): 0.0, ("c", "box"): 0.2, ("a", "lid"): 0.0})
    assert holds(all_in(["a", "b"], "box"), moment)
    assert not holds(all_in(["a", "b", "c"], "box"), moment)
    assert holds(CountIn(("a", "b", "c"), "box", 2), moment)
    assert not holds(CountIn(("a", "b", "c"), "box", 3), moment)
    assert holds(all_zones("a", ["box", "lid"]), moment)
    assert not holds(all_zones("b", ["box", "lid"]), moment)
    assert holds(any_of(In("c", "box"), In("b", "box")), moment)
    assert not holds(all_of(In("c", "box"), In("b", "box")), moment)


def test_one_after_the_other_is_remembered():
    judge = ThingJudge(ordered(JointMoved("first", 0.1), JointMoved("second", 0.1)))
    assert not judge.update(Moment(joints={"second": 0.2})).success
    assert not judge.update(Moment(joints={"first": 0.2})).success
    assert judge.update(Moment(joints={"second": 0.2})).success


def test_a_fail_zone_counts_when_an_action_ends_or_always():
    touching = Moment({("wand", "pole"): 0.0})
    lenient = ThingJudge(Held("nothing"), [FailIn("wand", "pole")])
    assert not lenient.update(touching).failure
    assert lenient.update(touching, at_end=True).failure == "wand touched pole"
    assert ThingJudge(Held("nothing"), [FailIn("wand", "pole", always=True)]).update(touching).failure


def test_a_trigger_happens_once_and_changes_what_is_asked():
    happened = []
    judge = ThingJudge(In("can", "pot"), trigger=Trigger(In("spout", "air"), happened.append, In("drop", "pot")))
    moment = Moment({("spout", "air"): 0.0, ("can", "pot"): 0.0})
    assert not judge.update(moment).success, "from now on it is the drops that count"
    judge.update(moment)
    assert happened == [moment]
    assert judge.update(Moment({("drop", "pot"): 0.0})).success


def test_progress_grows_as_the_gap_shrinks_and_is_full_only_when_done():
    judge = ThingJudge(all_of(In("ball", "hoop"), NoneHeld()))
    made = [judge.progress(Moment({("ball", "hoop"): gap})) for gap in (0.4, 0.2, 0.0)]
    assert made == [0.0, 0.5, 0.9]
    judge.update(IN)
    assert judge.progress(IN) == 1.0
