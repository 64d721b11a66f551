"""Model families of others, a folder each: `guest.py` runs beside the family's own packages, importing nothing of ours.

`environment.toml` says which packages; `pytest-vla install NAME` brings them. Where they are in this interpreter
already, the guest runs here. What several guests have in common is in `shared`, which is on their path.
"""
