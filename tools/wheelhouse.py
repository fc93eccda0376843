"""Everything a class needs to install the course without a network, in a folder for a USB stick.

    python tools/wheelhouse.py FOLDER [linux-3.12 windows-3.13 macos-arm64-3.12 …]

Downloads the wheels of fluxlite[lab] for Windows, macOS and Linux and all Pythons that fluxlite supports, or for those
named; no CuPy. Copies `install_offline.py` beside them, which is all that a learner starts.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What pip calls each system, and what the markers of requirements ask it.
_LINUX = [f"manylinux_2_{n}_x86_64" for n in range(34, 4, -1)] + ["manylinux2014_x86_64", "linux_x86_64"]
SYSTEMS = {
    "linux": (_LINUX, {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}),
    "windows": (["win_amd64"], {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"}),
    "macos-arm64": (
        list(mac_platforms((14, 0), "arm64")),
        {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    ),
    "macos-x86": (
        list(mac_platforms((14, 0), "x86_64")),
        {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    ),
}
TARGETS = [f"{system}-{python}" for system in SYSTEMS for python in PYTHONS]


class Target:
    """One system and one version of Python."""

    def __init__(self, name: str) -> None:
        system, _, self.python = name.rpartition("-")
        if name not in TARGETS:
            raise ValueError(f"there is no target {name!r}; there are {', '.join(TARGETS)}")
        self.name = name
        self.platforms, markers = SYSTEMS[system]
        version = tuple(map(int, self.python.split(".")))
        self.tags: set[Tag] = {*cpython_tags(version, platforms=self.platforms)}
        self.tags |= {*compatible_tags(version, f"cp{version[0]}{version[1]}", self.platforms)}
        self.environment = {
            "platform_machine": "x86_64", "python_version": self.python, "python_full_version": f"{self.python}.9",
            "implementation_name": "cpython", "platform_python_implementation": "CPython", "platform_release": "",
            "platform_version": "", "implementation_version": f"{self.python}.9", **markers,
        }  # fmt: skip

    def fits(self, wheel: Path) -> bool:
        return not self.tags.isdisjoint(parse_wheel_filename(wheel.name)[3])

    def download(self, folder: Path, requirements: Iterable[str]) -> None:
        """What pip finds for this target. It asks the markers of the Python it runs in, so some may be missing."""
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--dest",
            str(folder),
        ]
        command += ["--only-binary=:all:", "--find-links", str(folder), "--python-version", self.python]
        command += [f"--platform={platform}" for platform in self.platforms]
        subprocess.run([*command, *requirements], check=True)


def missing(folder: Path, target: Target, wanted: str = "fluxlite[lab]") -> list[str]:
    """The requirements that installing `wanted` from `folder` alone would not find for `target`."""
    wheels: dict[str, list[Path]] = {}
    for wheel in sorted(folder.glob("*.whl")):
        if target.fits(wheel):
            wheels.setdefault(parse_wheel_filename(wheel.name)[0], []).append(wheel)
    lacking, seen, open_ = [], set(), [Requirement(wanted)]
    while open_:
        requirement = open_.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        fitting = [w for w in wheels.get(key[0], []) if _version(w) in requirement.specifier]
        if not fitting:
            lacking.append(str(requirement).partition(";")[0].strip())
            continue
        newest = max(fitting, key=_version)
        open_ += _asked_for(newest, requirement.extras, target)
    return sorted(lacking)


def _version(wheel: Path):  # type: ignore[no-untyped-def]
    return parse_wheel_filename(wheel.name)[1]


def _asked_for(wheel: Path, extras: Iterable[str], target: Target) -> Iterator[Requirement]:
    """What a wheel requires on the target."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1)
        lines = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**target.environment, "extra": extra}) for extra in (*extras, "")):
            yield requirement


def fill(folder: Path, target: Target) -> None:
    """Download all that is missing for the target, and what that needs in turn."""
    while lacking := missing(folder, target):
        before = set(folder.iterdir())
        target.download(folder, lacking if "fluxlite[lab]" not in lacking else ["fluxlite[lab]"])
        if set(folder.iterdir()) == before:
            raise RuntimeError(f"{target.name}: no wheel was found for {', '.join(missing(folder, target))}")


def main(arguments: list[str]) -> int:
    if not arguments:
        print((__doc__ or "").strip())
        return 2
    folder, targets = Path(arguments[0]), [Target(name) for name in arguments[1:] or TARGETS]
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--wheel-dir", place, str(ROOT)], check=True)
        for old in wheels.glob("fluxlite-*.whl"):
            old.unlink()
        shutil.copy(next(Path(place).glob("*.whl")), wheels)
    for number, target in enumerate(targets, 1):
        print(f"{number} of {len(targets)}: {target.name}", flush=True)
        fill(wheels, target)
    shutil.copy(ROOT / "tools" / "install_offline.py", folder)
    size = sum(file.stat().st_size for file in wheels.iterdir()) / 1e6
    print(f"{folder} has {len(list(wheels.iterdir()))} files, {size:,.0f} MB. Copy it to a stick; there:")
    print("    python3 install_offline.py      (Windows: py install_offline.py)")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, RuntimeError) as error:
        sys.exit(str(error))
