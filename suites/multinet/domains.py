"""The seven domains: what they ask for, which of the six capability regimes they are of, and what their tasks are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .scoring import OUTPUT_OF

IMAGE, WORDS = "image", "text"


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain. `needs` are the modalities without which nobody can tell the answer."""

    name: str
    regime: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def output(self) -> str:
        return OUTPUT_OF[self.name]


#: The dimensions of an action, by morphology.
MORPHOLOGIES: Mapping[str, int] = {
    "openx_single_arm": 7,
    "openx_mobile_manipulation": 10,
    "openx_quadrupedal": 12,
    "openx_bimanual": 14,
    "openx_wheeled_robot": 2,
}
#: The sub-sets that have more than one class, as their folders are called, and how many classes each has.
ODINW: Mapping[str, int] = {
    "AerialMaritimeDrone": 5,
    "AmericanSignLanguageLetters": 26,
    "Aquarium": 7,
    "BCCD": 3,
    "ChessPieces": 13,
    "DroneControl": 8,
    "EgoHands": 4,
    "HardHatWorkers": 3,
    "MaskWearing": 2,
    "NorthAmericaMushrooms": 2,
    "OxfordPets": 37,
    "PKLot": 2,
    "ShellfishOpenImages": 3,
    "ThermalCheetah": 2,
    "UnoCards": 15,
    "VehiclesOpenImages": 5,
    "boggleBoards": 36,
    "brackishUnderwater": 6,
    "dice": 6,
    "openPoetryVision": 43,
    "plantdoc": 30,
    "selfdrivingCar": 11,
    "thermalDogsAndPeople": 2,
    "websiteScreenshots": 8,
}
SHAPES = "odinw_shapes"
"""The sub-set that is drawn by code."""
LAYOUTS = (
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit_o_1order",
)
GAME_STEPS = 400
CATEGORIES = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")

#: In the order of the report. Questions about a robot's video are counted with those about a room.
DOMAINS: Mapping[str, Domain] = {
    domain.name: domain
    for domain in (
        Domain("openx", "continuous_robot_control", tuple(MORPHOLOGIES), (IMAGE, WORDS)),
        Domain("overcooked", "multi_agent_coordination", ("overcooked",), (IMAGE,)),
        Domain("piqa", "physical_commonsense", ("piqa",), (WORDS,)),
        Domain("sqa3d", "spatial_reasoning", ("sqa3d",), (IMAGE, WORDS)),
        Domain("robovqa", "spatial_reasoning", ("robovqa",), (IMAGE, WORDS)),
        Domain("odinw", "visual_grounding", (SHAPES, *(f"odinw_{name}" for name in ODINW)), (IMAGE,)),
        Domain("bfcl", "tool_use", ("bfcl",), (WORDS,)),
    )
}
LIVE_OVERCOOKED = tuple(f"overcooked_{layout}" for layout in LAYOUTS)
LIVE_BFCL = tuple(f"bfcl_{category}" for category in CATEGORIES)
REPLAY = "overcooked_2019"
"""Human games of another study than the published one, read from the user's own installed package."""

DOMAIN_OF: Mapping[str, Domain] = {
    **{task: domain for domain in DOMAINS.values() for task in domain.tasks},
    **dict.fromkeys((*LIVE_OVERCOOKED, REPLAY), DOMAINS["overcooked"]),
    **dict.fromkeys(LIVE_BFCL, DOMAINS["bfcl"]),
}
