"""`lerobot-eval` on a PushT that a little overlap solves, so that random weights solve some episodes and not others.

Runs beside LeRobot's packages and gym-pusht, and takes what `lerobot-eval` takes.
"""

import gym_pusht.envs
from lerobot.scripts.lerobot_eval import main

ENOUGH = 0.02  # of the goal covered, where PushT asks for 0.95


class Easier(gym_pusht.envs.PushTEnv):
    def __init__(self, *values, **options):
        super().__init__(*values, **options)
        self.success_threshold = ENOUGH


if __name__ == "__main__":
    gym_pusht.envs.PushTEnv = Easier
    main()
