"""What people see of a run: the table after it, the live view, the page, films, figures and exports.

May import `run`, `gate`, `perturb`, `replay`, `inference`, `rollout`, `suite`, `episode` and the options. Read
`summary.py` first (the table), then `html/views.py` (the page: one row a view) and `film.py`.
"""
