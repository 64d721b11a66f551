"""How many episodes of a run were solved, and whether that is enough: `python .ci/solved.py RUN AT_LEAST OF`."""

import sys

from pytest_vla.run import read_run

tally = read_run(sys.argv[1]).once.tally()
least, total = int(sys.argv[2]), int(sys.argv[3])
print(f"{tally.solved} of {tally.measured} solved, {tally.errors} errors; at least {least} of {total} are to be")
sys.exit(not (tally.solved >= least and tally.measured == total and not tally.errors))
