"""Everything a class needs to install the course without a network, in a folder for a USB stick.

    python tools/wheelhouse.py FOLDER [linux-3.12 windows-3.13 macos-arm64-3.12 …]

Downloads the wheels of fluxlite[lab] for Windows, macOS and Linux and all Pythons that fluxlite supports, or for those
named; no CuPy. Their versions are those of constraints.txt. Copies `install_offline.py` beside them, which is all that
a learner starts.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import mac_platforms

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What the markers of requirements ask each system, and what pip calls it.
_MARKERS = ("sys_platform", "platform_system", "os_name", "platform_machine")
SYSTEMS = {
    "linux": ("linux", "Linux", "posix", "x86_64"),
    "windows": ("win32", "Windows", "nt", "AMD64"),
    "macos-arm64": ("darwin", "Darwin", "posix", "arm64"),
    "macos-x86": ("darwin", "Darwin", "posix", "x86_64"),
}
PLATFORMS = {
    "linux": [f"manylinux_2_{n}_x86_64" for n in range(34, 4, -1)] + ["manylinux2014_x86_64", "linux_x86_64"],
    "windows": ["win_amd64"],
    "macos-arm64": list(mac_platforms((14, 0), "arm64")),
    "macos-x86": list(mac_platforms((14, 0), "x86_64")),
}
TARGETS = [f"{system}-{python}" for system in SYSTEMS for python in PYTHONS]


def environment(system: str, version: str) -> dict[str, str]:
    """What a system with a Python, such as 3.11.5, answers to markers. To others, it answers as this one."""
    of_python = {"python_version": version.rpartition(".")[0], "python_full_version": version}
    return dict(zip(_MARKERS, SYSTEMS[system])) | of_python


def pinned(system: str, version: str) -> list[str]:
    """The packages, each with one version, that constraints.txt has for a system with a Python."""
    requirements = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    about = environment(system, version)
    return [
        f"{one.name}{one.specifier}" for one in map(Requirement, requirements)
        if one.marker is None or one.marker.evaluate(about)
    ]  # fmt: skip


def download(folder: Path, target: str) -> None:
    """Download the wheels for one target. Raises `ValueError` if it's unknown, `RuntimeError` if a wheel is missing."""
    if target not in TARGETS:
        raise ValueError(f"there is no target {target!r}; there are {', '.join(TARGETS)}")
    system, _, python = target.rpartition("-")
    first, last = f"{python}.0", f"{python}.99"  # a package may want 3.11.5, so 3.11 alone doesn't say which version
    before = pinned(system, first)
    later = [package for package in pinned(system, last) if package not in before]
    platforms = [f"--platform={name}" for name in PLATFORMS[system]]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", str(folder),
           "--only-binary=:all:", "--no-deps", *platforms]  # fmt: skip
    for version, packages in ((first, before), (last, later)):
        if packages and subprocess.run([*pip, f"--python-version={version}", *packages]).returncode:
            raise RuntimeError(f"{target}: a wheel is missing; pip's own words are above")


def our_wheel(wheels: Path) -> Path:
    """Make fluxlite's own wheel, in place of another version's that may be there; its path."""
    wheels.mkdir(parents=True, exist_ok=True)
    for old in wheels.glob("fluxlite-*.whl"):
        old.unlink()
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(wheels), str(ROOT)], check=True)
    (made,) = wheels.glob("fluxlite-*.whl")
    return made


def fill(folder: Path, targets: Sequence[str] = TARGETS) -> Path:
    """Put everything into a folder that these targets need, and the installer; the folder of the wheels."""
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    for number, target in enumerate(targets, 1):
        print(f"{number} of {len(targets)}: {target}", flush=True)
        download(wheels, target)
    our_wheel(wheels)
    shutil.copy(ROOT / "tools" / "install_offline.py", folder)
    return wheels


def check_targets(parser: argparse.ArgumentParser, targets: Sequence[str]) -> None:
    """Ends the program if a target isn't known."""
    unknown = [target for target in targets if target not in TARGETS]
    if unknown:
        parser.error(f"there's no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Download all that a class needs to install without a network.")
    parser.add_argument("folder", type=Path, help="where it goes, such as a USB stick; made if it isn't there")
    known = f"a system and a Python, of {', '.join(TARGETS)}; all if there are none"
    parser.add_argument("targets", nargs="*", metavar="target", help=known)
    asked = parser.parse_args(arguments)
    check_targets(parser, asked.targets)
    folder = asked.folder
    wheels = fill(folder, asked.targets or TARGETS)
    size = sum(file.stat().st_size for file in wheels.iterdir()) / 1e6
    print(f"{folder} has {len(list(wheels.iterdir()))} files, {size:,.0f} MB. Copy it to a stick; there:")
    print("    python3 install_offline.py      (Windows: py install_offline.py)")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, RuntimeError) as error:
        sys.exit(str(error))
