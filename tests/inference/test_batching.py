"""A batch goes when nothing can be gained by waiting, never later."""

from pytest_vla.inference.batching import MAX_WAIT_S, Batcher


def batcher(limit=4, compute=0.1):
    made = Batcher(limit)
    made.took(1, compute)
    return made


def test_a_full_batch_goes_at_once():
    waiting = batcher(limit=2)
    for client in "ab":
        waiting.add(client, client, now=0.0)
    assert waiting.wait(live=10, now=0.0) == 0
    assert waiting.take() == ["a", "b"]


def test_a_lone_client_never_waits():
    waiting = batcher()
    waiting.add("a", 1, now=0.0)
    assert waiting.wait(live=1, now=0.0) == 0


def test_a_batch_goes_when_every_live_client_waits():
    waiting = batcher(limit=8)
    waiting.add("a", 1, now=0.0)
    assert waiting.wait(live=2, now=0.0) > 0
    waiting.add("b", 2, now=0.0)
    assert waiting.wait(live=2, now=0.0) == 0


def test_the_wait_ends_at_a_tenth_of_the_compute_time():
    waiting = batcher(compute=0.1)
    waiting.add("a", 1, now=5.0)
    assert abs(waiting.wait(live=3, now=5.0) - 0.01) < 1e-9
    assert waiting.wait(live=3, now=5.011) == 0


def test_the_wait_is_bounded_for_slow_models_and_zero_for_unknown_ones():
    slow, unknown = batcher(compute=100.0), Batcher(4)
    for waiting in (slow, unknown):
        waiting.add("a", 1, now=0.0)
    assert slow.wait(live=3, now=0.0) == MAX_WAIT_S
    assert unknown.wait(live=3, now=0.0) == 0


def test_nobody_waits_for_company_that_would_save_nothing():
    waiting = Batcher(8)
    for rows in (1, 4, 8, 2, 8):
        waiting.took(rows, seconds=0.01 * rows)
    waiting.add("a", 1, now=0.0)
    assert waiting.wait(live=8, now=0.0) < 1e-6


def test_the_wait_is_a_tenth_of_what_a_call_costs_beyond_its_rows():
    waiting = Batcher(8)
    for rows in (1, 4, 8, 2, 8):
        waiting.took(rows, seconds=0.1 + 0.01 * rows)
    waiting.add("a", 1, now=0.0)
    assert abs(waiting.wait(live=8, now=0.0) - 0.01) < 1e-6


def test_a_slow_first_call_of_a_small_batch_makes_nobody_hurry():
    waiting = Batcher(8)
    for rows, seconds in ((1, 5.0), (8, 0.1), (8, 0.1)):
        waiting.took(rows, seconds)
    waiting.add("a", 1, now=0.0)
    assert waiting.wait(live=8, now=0.0) > 0.01


def test_what_rows_cost_is_remembered_while_all_batches_are_alike():
    waiting = Batcher(8)
    for rows in (1, 4, 8, 2, 8, *[4] * 1000):
        waiting.took(rows, seconds=0.01 * rows)
    waiting.add("a", 1, now=0.0)
    assert waiting.wait(live=8, now=0.0) < 1e-6


def test_nobody_waits_a_time_so_short_that_a_selector_would_make_it_long():
    waiting = Batcher(8)
    waiting.took(4, seconds=0.004)
    waiting.add("a", 1, now=0.0)
    assert waiting.wait(live=8, now=0.0) == 0


def test_nobody_waiting_means_no_batch():
    assert batcher().wait(live=3, now=0.0) is None


def test_what_does_not_fit_goes_in_the_next_batch_in_order():
    waiting = batcher(limit=2)
    for number in range(5):
        waiting.add(number, number, now=0.0)
    assert [waiting.take(), waiting.take(), waiting.take()] == [[0, 1], [2, 3], [4]]


def test_a_client_that_is_gone_is_not_answered():
    waiting = batcher()
    waiting.add("a", 1, now=0.0)
    waiting.add("b", 2, now=0.0)
    waiting.drop("a")
    assert waiting.take() == [2]
