"""A real WebSocket server in a thread, whose connections a test handles."""

import threading
from contextlib import contextmanager

from websockets.sync.server import serve


@contextmanager
def listening(handler, scheme="ws", **options):
    with serve(handler, "127.0.0.1", 0, **options) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"{scheme}://localhost:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()
