"""The parts that every task is put together from: sampling, placement, prompts, goals."""
