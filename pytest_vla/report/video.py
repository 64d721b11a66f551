"""H.264 files that every browser plays, written frame by frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_S = 12.0
FPS = (2, 20)
LAST_FRAME_S = 1.0


def frame_rate(frames: int) -> int:
    """Few frames are shown slowly, many fast, so that a film takes a few seconds."""
    slowest, fastest = FPS
    return max(slowest, min(fastest, round(frames / LONGEST_S)))


class VideoWriter:
    """One MP4 file; the size is that of its first frame."""

    def __init__(self, path: Path, frames: int) -> None:
        self.path, self.fps = path, frame_rate(frames)
        self.frames = 0
        self._pipe: Any = None
        self._last: bytes = b""

    def add(self, frame: Image) -> None:
        if self._pipe is None:
            self._open(frame.size)
        self._last = frame.tobytes()
        self._pipe.send(self._last)
        self.frames += 1

    def close(self) -> None:
        """Hold the last frame, so that a person sees how it ended, and finish the file."""
        if self._pipe is not None:
            for _ in range(round(LAST_FRAME_S * self.fps)):
                self._pipe.send(self._last)
            self._pipe.close()
            self._pipe = None

    def _open(self, size: tuple[int, int]) -> None:
        import imageio_ffmpeg  # type: ignore[import-untyped]

        self._pipe = imageio_ffmpeg.write_frames(
            str(self.path),
            size,
            fps=self.fps,
            codec="libx264",
            pix_fmt_out="yuv420p",
            macro_block_size=2,
            output_params=["-crf", "24", "-preset", "veryfast", "-movflags", "+faststart"],
        )
        self._pipe.send(None)
