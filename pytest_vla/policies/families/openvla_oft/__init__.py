"""OpenVLA-OFT folders: OpenVLA's, with chunks of actions from one pass and an action head of their own."""
