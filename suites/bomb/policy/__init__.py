"""A policy for the suite that learns from demonstrations: `visuomotor` is the network, `examples` what it sees.

Read `facts.py` first: it is all that the policy knows of the suite.
"""
