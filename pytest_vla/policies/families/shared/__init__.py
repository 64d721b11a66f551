"""What guests of several families share; it imports nothing of ours either, and is on their path beside `guest.py`."""
