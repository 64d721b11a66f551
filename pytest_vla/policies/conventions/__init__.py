"""What the numbers, pictures and words of a suite and of a policy mean, as data; and the one place that converts.

A suite declares its `Conventions` (`Suite.conventions`), a policy its own (`PolicySpec.conventions`, or a preset by
name); what a side leaves empty is taken as the other has it. Read `declared.py` first (the data). `converted.fitted` is
the one function that a loader or a runner asks: it gives the policy that acts in a suite, with whatever has to be
converted on the way; `conversion.py` plans that before the first episode and says it in words. `corrections.py` is the
table of what a person may put right by `[tool.pytest_vla.conventions]`, and the doctor tries. The data is
light: numpy is imported by `conversion.py` alone.
"""

from pytest_vla.policies.conventions.corrections import CORRECTIONS, check_corrections
from pytest_vla.policies.conventions.declared import Camera, Conventions, Normalisation, Part, Wording
from pytest_vla.policies.conventions.presets import preset, preset_names

__all__ = [
    "CORRECTIONS",
    "Camera",
    "Conventions",
    "Normalisation",
    "Part",
    "Wording",
    "check_corrections",
    "preset",
    "preset_names",
]
