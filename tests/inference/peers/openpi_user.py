"""The real openpi client against an address: images arrive equal, every answer is a chunk."""

import sys
import zlib

import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy

policy = WebsocketClientPolicy("127.0.0.1", int(sys.argv[1]))
print("policy", policy.get_server_metadata()["policy"])
rng = np.random.default_rng(0)
for step in range(1, 6):
    image = rng.integers(0, 256, (224, 224, 3), dtype=np.uint8)
    answer = policy.infer({"observation/image": image, "observation/state": np.zeros(8), "prompt": "go"})
    expected = np.array([[zlib.crc32(image.tobytes()) % 2**20, 224, step]], np.float32)
    assert np.array_equal(answer["actions"], expected), (answer, expected)
print("equal")
