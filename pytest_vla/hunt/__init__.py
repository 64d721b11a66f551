"""Hunts: find how a policy breaks, shrunk to the smallest cause."""
