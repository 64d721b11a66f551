"""LeRobot's policies (ACT, diffusion, VQ-BeT, SmolVLA, pi0, pi0.5, ...): `guest.py` runs beside LeRobot's packages."""
