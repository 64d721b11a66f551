"""Results of other harnesses as run files, so that everything that reads a run reads them too.

May import `episode`, `run` and the options. Read `harness.py` first (what a reader gives).
"""

from pytest_vla.readers.harness import Foreign, ReaderError
from pytest_vla.readers.importing import READERS, import_results, read_results

__all__ = ["READERS", "Foreign", "ReaderError", "import_results", "read_results"]
