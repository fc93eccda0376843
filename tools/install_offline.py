"""Install the course from this folder, without a network:

    python3 install_offline.py [FOLDER]        (Windows: py install_offline.py [FOLDER])

Makes FOLDER, by default fluxlite-course in your home, with all that is needed inside it, and nothing outside. Its last
words are READY, and how to start the course. Standard library only; it also starts on Pythons that are too old, so that
they can say what helps.
"""

from __future__ import print_function

import argparse
import os
import re
import subprocess
import sys

OLDEST = (3, 11)
HERE = os.path.dirname(os.path.abspath(__file__))
WHEELS = os.path.join(HERE, "wheels")


def unfit(version, modules=("venv", "ensurepip")):
    """Why this Python will not do, in words that help; empty if it will."""
    if tuple(version[:2]) < OLDEST:
        found = ".".join(map(str, version[:3]))
        needed = "fluxlite needs Python %d.%d or newer; this is %s." % (OLDEST + (found,))
        return needed + " Ask for the installer of a newer one."
    for name in modules:
        try:
            __import__(name)
        except ImportError:
            apt = "apt install python%d.%d-venv" % tuple(version[:2])
            if any(
                os.access(os.path.join(path, "sudo"), os.X_OK) for path in os.environ.get("PATH", "").split(os.pathsep)
            ):
                apt = "sudo " + apt  # a container has none, and there you are root
            return "This Python comes without %s. On Debian and Ubuntu this brings it: %s" % (name, apt)
    return ""


def pythons(names):
    """For which systems and Pythons there are wheels, as NumPy's are named: "macOS arm64 3.12"."""
    systems = {"win": "Windows", "linux": "Linux", "macos": "macOS"}
    found = set()
    for name in names:
        match = re.match(r"numpy-.*-cp3(\d+)-.*?(win|linux|macos).*?(arm64)?\.whl", name)
        if match:
            system = systems[match.group(2)] + (" arm64" if match.group(3) else "")
            found.add("%s 3.%s" % (system, match.group(1)))
    return sorted(found) or ["nothing"]


def start_script(folder, python):
    """A file to start the course with; its path."""
    if os.name == "nt":
        path, text = "start-course.bat", '@cd /d "%%~dp0"\r\n@"%s" -m fluxlite lab\r\n' % python
    else:
        path, text = "start-course.sh", '#!/bin/sh\ncd "$(dirname "$0")"\nexec "%s" -m fluxlite lab "$@"\n' % python
    path = os.path.join(folder, path)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def main(arguments):
    """Install; the exit status."""
    parser = argparse.ArgumentParser(description="Install the course from this folder, without a network.")
    parser.add_argument("folder", nargs="?", help="where it goes; by default fluxlite-course in your home")
    folder = parser.parse_args(arguments).folder or os.path.join(os.path.expanduser("~"), "fluxlite-course")
    why = unfit(sys.version_info)
    if not why and not os.path.isdir(WHEELS):
        why = "There is no folder 'wheels' beside this file. Copy the whole folder from the stick, not this file alone."
    if why:
        print(why)
        return 1
    folder = os.path.abspath(folder)
    venv = os.path.join(folder, ".venv")
    print("Installing into %s; a minute or two, and half a gigabyte." % folder)
    sys.stdout.flush()  # other programs write, too
    if subprocess.call([sys.executable, "-m", "venv", "--clear", venv]):
        return 1
    python = os.path.join(venv, "Scripts", "python.exe") if os.name == "nt" else os.path.join(venv, "bin", "python")
    pip = [python, "-m", "pip", "install", "--no-index", "--find-links", WHEELS]
    pip += ["--quiet", "--disable-pip-version-check", "fluxlite[lab]"]
    if subprocess.call(pip, env=dict(os.environ, PIP_CONFIG_FILE=os.devnull)):
        version = "%s and Python %d.%d" % ((sys.platform,) + tuple(sys.version_info[:2]))
        print("Something is missing in 'wheels' for %s; pip's own words are above." % version)
        print("It has what is needed for: %s" % ", ".join(pythons(os.listdir(WHEELS))))
        return 1
    start = start_script(folder, python)
    status = subprocess.call([python, "-m", "fluxlite", "check"], cwd=folder)  # says READY, or what is still to be done
    if not status:
        print("Start the course with\n    %s" % start)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
