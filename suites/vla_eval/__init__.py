"""Benchmark classes of vla-eval, unchanged, as suites: `--vla-suite=vla_eval:MODULE:CLASS`, or its YAML config."""
