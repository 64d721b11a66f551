"""The tasks of robosuite, each with an instruction (upstream has none), its arms, and how long an action is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    instruction: str
    arms: int = 1
    gripper: bool = True
    """Whether the hands open and close: the wiping hand and the peg's do not."""

    @property
    def action_size(self) -> int:
        return self.arms * (7 if self.gripper else 6)


TASKS = {
    "Lift": Task("lift the red cube"),
    "Stack": Task("put the red cube on the green cube"),
    "NutAssembly": Task("put the square nut onto the square peg and the round nut onto the round peg"),
    "NutAssemblySingle": Task("put the nut onto its peg"),
    "NutAssemblySquare": Task("put the square nut onto the square peg"),
    "NutAssemblyRound": Task("put the round nut onto the round peg"),
    "PickPlace": Task("put the milk, the bread, the cereal and the can each into its bin"),
    "PickPlaceSingle": Task("put the thing into its bin"),
    "PickPlaceMilk": Task("put the milk into its bin"),
    "PickPlaceBread": Task("put the bread into its bin"),
    "PickPlaceCereal": Task("put the cereal into its bin"),
    "PickPlaceCan": Task("put the can into its bin"),
    "Door": Task("open the door"),
    "Wipe": Task("wipe the dirt off the table", gripper=False),
    "ToolHang": Task("put the frame together and hang the tool on it"),
    "TwoArmLift": Task("lift the pot with both hands", arms=2),
    "TwoArmPegInHole": Task("put the peg into the hole", arms=2, gripper=False),
    "TwoArmHandover": Task("hand the hammer over to the other arm", arms=2),
    "TwoArmTransport": Task("bring the hammer to the other bin and the trash to the trash bin", arms=2),
}

#: As upstream groups them: by the number of arms.
PARTITIONS = {1: "single_arm", 2: "two_arm"}
