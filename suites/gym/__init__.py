"""Any Gymnasium environment as a suite: `--vla-suite=gym:ID`."""
