"""Exit 0 when every episode of the first run has the same outcome and digest in the second."""

import sys

from pytest_vla.run import read_run

first, second = (
    {record.key: (record.outcome, record.result.digest) for record in read_run(path).records()} for path in sys.argv[1:]
)
different = [key for key in first if first[key] != second.get(key)]
print(f"{len(first) - len(different)} of {len(first)} episodes have the same digest")
sys.exit(bool(different or not first))
