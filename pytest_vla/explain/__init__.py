"""Why a policy does what it does: interventions on its inputs and activations, played out and drawn.

May import `inference`, `policies`, `suite`, `rollout`, `replay`, `run`, `report` (films), `episode` and the options.
Read `moment.py` first: one moment of a recorded episode is asked about by `interventions.py` through `asking.py`, in
batches; `maps.py` refines where it matters, `scores.py` says how far an answer moved, `chance.py` whether that is more
than chance. `episodes.py` does so along an episode, `play.py` holds a mask for a whole one, `many.py` says of many what
they looked at; `records.py`, `drawing.py` and `written.py` make data, pictures and files of it. What happens in the
process of the model is `inference/probes.py` and `inference/units.py`.
"""
