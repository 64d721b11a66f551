"""What people see of a run: the summary and the live view, the HTML page, films, figures, exports.

All of it is made from `run`; what it says of others comes from `gate`, `perturb` and `inference`, and an episode is run
again by `replay`. Read `summary.py` first, then `html/views.py`.
"""
