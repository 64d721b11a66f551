"""A policy for an interpreter of its own."""

from benchmarks.explain_plants import Passing


def make():
    return Passing(3)
