"""A policy for the suite that learns from demonstrations: `object_tokens` is the network, `objects` what it sees.

Read `facts.py` first: it is all that the policy knows of the suite.
"""
