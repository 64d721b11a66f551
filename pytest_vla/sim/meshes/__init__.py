"""Solids drawn from numbers, for any simulator: triangles for pictures, convex points for contacts."""
