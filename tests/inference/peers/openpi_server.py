"""openpi's own server (`src/openpi/serving/websocket_policy_server.py` of the checkout in sys.argv[1]), on a free port.

Its policy answers with chunks that tell the checksum of the picture, the state and the prompt that it was given. Only
the server's module is loaded: the package around it imports the training stack.
"""

import asyncio
import importlib.util
import socket
import sys
import zlib
from pathlib import Path

import numpy as np

CHUNK = 3


class Told:
    def infer(self, obs):
        image = zlib.crc32(np.ascontiguousarray(obs["observation/image"]).tobytes()) % 2**20
        words = zlib.crc32(obs["prompt"].encode()) % 2**20
        action = np.array([image, float(np.sum(obs["observation/state"])), words])
        return {"actions": np.stack([action + step for step in range(CHUNK)])}


async def serve(made, port):
    running = asyncio.create_task(made.run())
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            break
    print(f"ws://127.0.0.1:{port}", flush=True)
    await running


if __name__ == "__main__":
    path = Path(sys.argv[1]) / "src/openpi/serving/websocket_policy_server.py"
    spec = importlib.util.spec_from_file_location("websocket_policy_server", path)
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    asyncio.run(serve(server.WebsocketPolicyServer(Told(), "127.0.0.1", number, {"model": "told"}), number))
