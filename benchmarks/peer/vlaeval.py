"""vla-eval's side of `benchmarks.inference`, run by the Python of its own environment."""

from __future__ import annotations

import sys
import time
from typing import Any

from workload import Model, run_client


def serve(kind: str, batch: int) -> None:
    from vla_eval.api import serve_background
    from vla_eval.model_servers.predict import PredictModelServer

    model = Model(kind)

    class Served(PredictModelServer):
        def predict(self, obs: Any, ctx: Any) -> Any:
            return {"actions": model.act([obs])[0]}

        def predict_batch(self, obs_batch: Any, ctx_batch: Any) -> Any:
            return [{"actions": action} for action in model.act(obs_batch)]

        def get_action_spec(self) -> Any:
            return {}

        def get_observation_spec(self) -> Any:
            return {}

    with serve_background(Served(max_batch_size=batch, max_wait_time=0.001)) as handle:
        print(handle.url, flush=True)
        time.sleep(3600)


def client(url: str, image_format: str) -> None:
    import asyncio

    from vla_eval.connection import Connection
    from vla_eval.protocol.numpy_codec import set_image_format

    set_image_format(image_format)  # type: ignore[arg-type]
    loop = asyncio.new_event_loop()
    connection = Connection(url)
    loop.run_until_complete(connection.connect())
    loop.run_until_complete(connection.start_episode({"name": "t", "episode_idx": 0}))
    run_client(lambda one, *_: len([loop.run_until_complete(connection.act(one))]))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        client(sys.argv[2], sys.argv[3])
