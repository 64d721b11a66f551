"""What people see of a run: the summary and the live view, the HTML page, films, figures, exports.

All of it is made from `run/`; what it shows of others comes from `gate`, `perturb` and `inference`, and episodes are run
again through `replay`. Read `summary.py` first, then `html/views.py`.
"""
