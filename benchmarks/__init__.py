"""Speed as ratios, taken in one run: `python -m benchmarks.NAME [--quick]`; the last line is one JSON object."""
