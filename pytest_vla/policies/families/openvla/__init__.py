"""OpenVLA and its kin: their folders bring code that loads with transformers 4.40.1 and timm 0.9 only."""
