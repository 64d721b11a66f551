"""The first thing that a worker on a node runs: xdist's own module, told where things are on this node.

xdist sends the text of this module, so that it can use nothing but what is in it and what is installed on the node.
"""

import os
import sys
import tempfile
from importlib.util import find_spec
from typing import Any


class Translated:
    """xdist's channel, whose first message names folders of the driver."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def receive(self) -> Any:
        told, arguments, options, path = self._channel.receive()
        here = {told["vla_driver_folder"]: os.getcwd(), told["vla_run_folder"]: os.environ["PYTEST_VLA_SEAT"]}
        options = {**options, "basetemp": tempfile.mkdtemp(prefix="pytest-vla-")}
        mine = [each for each in sys.path if each]
        theirs = [found for each in path if os.path.exists(found := translated(each, here))]
        return translated(told, here), translated(arguments, here), options, [*dict.fromkeys([*theirs, *mine])]


def translated(value: Any, folders: dict[str, str]) -> Any:
    """The same with each folder, and what is in it, as it is called here; the longest name first."""
    if isinstance(value, dict):
        return {name: translated(each, folders) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [translated(each, folders) for each in value]
    if isinstance(value, str):
        for theirs, ours in sorted(folders.items(), key=lambda pair: -len(pair[0])):
            if value == theirs or value.startswith(theirs + os.sep):
                return ours + value[len(theirs) :]
    return value


if __name__ == "__channelexec__":
    package = find_spec("xdist")  # not imported before pytest is there to look at it
    path = os.path.join(package.submodule_search_locations[0], "remote.py")  # type: ignore[union-attr,index]
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    exec(code, {"__name__": "__channelexec__", "channel": Translated(channel)})  # type: ignore[name-defined]  # noqa: F821
