"""SpatialVLA folders: PaliGemma 2 with depth, whose tokens are chunks of four actions."""
