"""Oracles that go from waypoint to waypoint, with a hand of three numbers instead of a simulator."""

import numpy as np

from pytest_vla.episode import EpisodeKey
from pytest_vla.kit.waypoints import CLOSED, OPEN, PATIENCE, Waypoint, WaypointPolicy, carry

KEY = EpisodeKey("toy", "task", "standard", 0)
REST = Waypoint((0.0, 0.0, 0.1), OPEN)
HEIGHTS = {"travel_m": 0.1, "grasp_m": 0.01, "place_m": 0.02}


class Hand(WaypointPolicy):
    """Goes wherever it is told at once, unless it is stuck."""

    rest = REST

    def __init__(self, plans, stuck=False):
        self.at, self.plans, self.stuck = (0.0, 0.0, 0.1), list(plans), stuck

    def tip(self):
        return self.at

    def plan(self):
        return iter(self.plans.pop(0)) if self.plans else None

    def action(self, waypoint):
        if not self.stuck:
            self.at = waypoint.tip
        return waypoint


def actions(hand, count):
    route = hand.reset(KEY)
    return [hand.act([{}], [route])[0] for _ in range(count)]


def test_plans_follow_each_other_and_end_at_rest():
    a, b = Waypoint((0.1, 0.0, 0.1), OPEN), Waypoint((0.2, 0.0, 0.1), CLOSED)
    assert actions(Hand([[a], [b]]), 4) == [a, b, REST, REST]


def test_a_waypoint_takes_its_least_number_of_actions():
    grasp, lift = Waypoint((0.1, 0.0, 0.0), CLOSED, 3), Waypoint((0.1, 0.0, 0.1), CLOSED)
    assert actions(Hand([[grasp, lift]]), 4) == [grasp, grasp, grasp, lift]


def test_a_waypoint_that_is_never_reached_is_given_up():
    far, next_one = Waypoint((1.0, 0.0, 0.0), OPEN), Waypoint((0.0, 0.0, 0.1), OPEN)
    taken = actions(Hand([[far, next_one]], stuck=True), PATIENCE + 1)
    assert taken == [far] * PATIENCE + [next_one]


def test_what_lies_askew_in_the_hand_is_put_down_at_its_own_centre():
    tip, thing, held_off, way = [0.0, 0.0, 0.1], np.array([0.1, 0.05]), np.array([0.004, -0.003]), []
    for waypoint in carry(lambda: tuple(thing), lambda: tuple(tip), (-0.1, 0.0), **HEIGHTS):
        tip[:] = waypoint.tip
        way.append(waypoint)
        if waypoint.opening == CLOSED:
            thing[:] = np.array(tip[:2]) + held_off
    assert np.allclose(thing, (-0.1, 0.0))
    assert [w.opening for w in way] == [OPEN, OPEN, CLOSED, CLOSED, CLOSED, CLOSED, OPEN, OPEN]
    assert [w.tip[2] for w in way] == [0.1, 0.01, 0.01, 0.1, 0.1, 0.02, 0.02, 0.1]


def test_a_hand_that_rests_beside_its_waypoint_is_sent_to_the_other_side_of_it():
    class Beside(Hand):
        """Stops a centimetre to the right of where it is sent."""

        def act(self, observations, states):
            (sent,) = super().act(observations, states)
            x, y, z = sent.tip
            self.at = (x + 0.01, y, z)
            return [sent]

    there = Waypoint((0.1, 0.0, 0.0), OPEN)
    hand = Beside([[there]])
    sent = actions(hand, 3)
    assert [round(waypoint.tip[0], 6) for waypoint in sent] == [0.1, 0.1, 0.09]
    assert there.reached(hand.at)
