"""Worlds and stages in Bullet and MuJoCo, and what draws them; they know physics and pictures, and no task.

Imports no other room. Read `bullet/world.py` or `mujoco/world.py` first.
"""
