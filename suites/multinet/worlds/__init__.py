"""What runs in interpreters of its own: these files import nothing of ours."""
