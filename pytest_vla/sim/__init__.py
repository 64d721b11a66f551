"""Toolkits that suites build their worlds on; they know physics and pictures, and no task."""
