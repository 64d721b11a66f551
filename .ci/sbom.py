"""A CycloneDX list of what is installed beside pytest-vla: python .ci/sbom.py [OUT.json]

Only what pytest-vla asks for, with whatever extras are installed, and what that asks for in turn.
"""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = "pytest-vla"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def gathered(name: str, found: dict) -> dict:
    """The distribution of that name and all that it requires, as far as it is installed."""
    key = canonical(name)
    if key in found:
        return found
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return found
    asked = [re.match(r"[\w.-]+", text)[0] for text in package.requires or ()]
    found[key] = (package, [])
    for each in asked:
        gathered(each, found)
    found[key][1].extend(sorted({canonical(each) for each in asked if canonical(each) in found}))
    return found


def component(package) -> dict:
    name, version = canonical(package.metadata["Name"]), package.version
    reference = f"pkg:pypi/{name}@{version}"
    kind = "application" if name == ROOT else "library"
    licence = package.metadata.get("License-Expression") or (package.metadata.get("License") or "").split("\n")[0][:80]
    made = {"type": kind, "name": name, "version": version, "purl": reference, "bom-ref": reference}
    return {**made, "licenses": [{"license": {"name": licence}}]} if licence else made


def sbom() -> dict:
    found = gathered(ROOT, {})
    components = {key: component(package) for key, (package, _) in sorted(found.items())}
    root = components.pop(ROOT)
    reference = {key: each["bom-ref"] for key, each in components.items()} | {ROOT: root["bom-ref"]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": list(components.values()),
        "dependencies": [
            {"ref": reference[key], "dependsOn": [reference[each] for each in asked if each != key]}
            for key, (_, asked) in sorted(found.items())
        ],
    }


if __name__ == "__main__":
    text = json.dumps(sbom(), indent=1)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")
    else:
        print(text)
