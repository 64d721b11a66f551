"""Shared by the suites and the tests of this repository."""

collect_ignore_glob = ["build/*", "dist/*"]
