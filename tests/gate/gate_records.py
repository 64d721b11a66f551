"""Run records made by hand."""


def record(index, outcome="solved", task="push", partition="L1", **more):
    return {
        "type": "episode", "suite": "dice", "task": task, "partition": partition, "index": index, "perturbation": "",
        "version": "1", "repeat": 0, "outcome": outcome, "reason": None if outcome == "solved" else "step_limit",
        "initial_digest": f"{task} {partition} {index}", "digest": "d", **more,
    }  # fmt: skip


def records(outcomes, **more):
    """`..u.E` as records: solved, unsolved and error, in episode order."""
    words = {".": "solved", "u": "unsolved", "E": "error"}
    return [record(index, words[letter], **more) for index, letter in enumerate(outcomes)]
