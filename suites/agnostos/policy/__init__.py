"""The paper's own method, X-ICM: a language model that is shown demonstrations of seen tasks and writes the actions.

`in_context` is the policy; read `text.py` first: it is all that the model ever sees.
"""
