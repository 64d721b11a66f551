"""Policies with one known fault each: whoever measures failure modes can be tried out on them."""
