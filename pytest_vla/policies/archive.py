"""Model files that are archives, read with distrust: torch's own readers unpickle, evaluate and import what they find.

A `torch.export` archive is copied member by member after each was looked at, so that torch reads what was checked.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_vla.policies.base import PolicyError

PICKLED = ("custom_obj_", "opaque_obj_")  # parts that torch would unpickle
_NAME = re.compile(r"[\w.\-:/]*")
_TARGET = re.compile(
    r"torch\.ops\.(aten|prims|prim|higher_order)\.\w+(\.\w+)?"
    r"|torch\.sym_\w+"
    r"|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|neg|pow|eq|ne|lt|le|gt|ge|and_|or_|not_|abs|pos)"
    r"|math\.(ceil|floor|trunc|sqrt)"
)
# What sizes are made of: symbols, numbers and the functions of torch's sympy printer.
_SIZE = re.compile(
    r"(Symbol\('\w+'(, \w+=(True|False))*\)|[A-Z]\w*(?=\()|[su]\d+|\d+(\.\d+)?|True|False|[-+*/%(), <>=&|~])*"
)
_FREE_TEXT = ("guards_code", "metadata", "as_string", "torch_version", "verifiers", "in_spec", "out_spec", "doc_string")


def checked_graph(path: Path) -> io.BytesIO:
    """The archive of a `torch.export` graph, copied; PolicyError where it holds anything that could run code."""
    copy = io.BytesIO()
    with _opened(path) as archive, zipfile.ZipFile(copy, "w") as safe:
        if not any(info.filename.endswith("archive_format") for info in archive.infolist()):
            raise _refused(path, "no archive_format")
        for info in archive.infolist():
            content = archive.read(info)
            for problem in _problems(info.filename, content):
                raise _refused(path, problem)
            safe.writestr(zipfile.ZipInfo(info.filename), _without_guards(info.filename, content))
    copy.seek(0)
    return copy


def check_members(path: Path) -> None:
    """PolicyError where a zip archive would grow when it is read: torch stores tensors as they are."""
    if zipfile.is_zipfile(path):
        with _opened(path):
            pass


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise PolicyError(f"'{path}' is damaged or not a torch file: {error}") from None
    names = [info.filename for info in archive.infolist()]
    if any(
        info.compress_type != zipfile.ZIP_STORED or info.file_size > path.stat().st_size for info in archive.infolist()
    ):
        raise _refused(path, "compressed members, which may be larger than memory")
    if len(set(names)) < len(names):
        raise _refused(path, "two members of one name")
    return archive


def _problems(name: str, content: bytes) -> Iterator[str]:
    """What is wrong with a member of a graph's archive, if anything."""
    parts = name.split("/")
    if any(part.startswith(PICKLED) for part in parts) or ".." in parts:
        yield name
    elif name.endswith(".pt"):
        yield from _pickled(name, content)
    elif name.endswith("_config.json"):
        yield from _payloads(name, _data(name, content))
    elif len(parts) > 1 and parts[-2] == "models":
        yield from _strings(_data(name, content), name)


def _without_guards(name: str, content: bytes) -> bytes:
    """A graph's guards are a program that torch would run; they check inputs, which the spec decides here."""
    if "/models/" not in name:
        return content
    data = _data(name, content)
    if isinstance(data, dict) and data.get("guards_code"):
        return json.dumps({**data, "guards_code": []}).encode()
    return content


def _pickled(name: str, content: bytes) -> Iterator[str]:
    import torch

    try:
        torch.load(io.BytesIO(content), weights_only=True)
    except Exception:
        yield f"{name} is more than tensors and plain data"


def _payloads(name: str, data: Any) -> Iterator[str]:
    entries = data.get("config") if isinstance(data, dict) else None
    for entry in entries.values() if isinstance(entries, dict) else ():
        if (
            not isinstance(entry, dict)
            or entry.get("use_pickle")
            or not re.fullmatch(r"\w+", str(entry.get("path_name")))
        ):
            yield f"{name} has pickled tensors"


def _strings(value: Any, where: str) -> Iterator[str]:
    """Every text of a graph is a name, an operator of torch, or a size; torch writes them into programs."""
    match value:
        case dict():
            for key, part in value.items():
                if not _NAME.fullmatch(str(key)):
                    yield f"{where}: {key!r}"
                elif key not in _FREE_TEXT:
                    yield from _strings_of(key, part, where)
        case list():
            for part in value:
                yield from _strings(part, where)
        case str() if not _NAME.fullmatch(value):
            yield f"{where}: {value[:80]!r}"


def _strings_of(key: str, part: Any, where: str) -> Iterator[str]:
    pattern = {"target": _TARGET, "expr_str": _SIZE}.get(key)
    if pattern is None or not isinstance(part, str):
        yield from _strings(part, where)
    elif not pattern.fullmatch(part) or "__" in part:
        yield f"{where}: {key} {part[:80]!r}"


def _data(name: str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise PolicyError(f"the part '{name}' of the graph cannot be read") from None


def _refused(path: Path, what: str) -> PolicyError:
    return PolicyError(
        f"'{path}' was refused: it holds more than a graph and tensors ({what}), which could run code. "
        f"If you trust its author, add --vla-trust-policy={path.name}"
    )
