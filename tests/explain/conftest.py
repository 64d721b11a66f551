"""What the tests of explanations share: the plants of the benchmark."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
