"""``python -m fluxlite wall``: open the wall, and say how to get there. Ctrl-C ends it, and then all is forgotten."""

import argparse
import asyncio
import contextlib
import datetime
import importlib.util
import json
import os
import socket
import webbrowser
from pathlib import Path
from typing import Any

from fluxlite.writing import write_whole

from .. import exercises
from ..ready import this_python
from .folder import Folder, take
from .room import Room

LOOPBACK = "127.0.0.1"
ALL = ("", "0.0.0.0", "::", "[::]")
LOOK_EVERY = 0.5  # seconds between two looks into a folder


def wall(asked: argparse.Namespace) -> int:
    """Open the wall, until Ctrl-C."""
    if importlib.util.find_spec("tornado") is None:
        brings = f"JupyterLab brings: {this_python()} -m pip install jupyterlab"
        raise ValueError(f"tornado is missing in this Python, which {brings}")
    if asked.address in ALL:
        raise ValueError(f"name one address, the one that labs shall reach, such as --address {own_address()}")
    lesson = asked.lesson.zfill(2) if asked.lesson else ""
    if lesson:
        exercises.folder(lesson)
    source = Folder(asked.folder) if asked.folder else None
    room = Room(lesson)
    keeper = _Keeper(asked.keep)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(room, source, asked, keeper))
    said = "The wall has ended, and all that it heard is forgotten."
    if asked.keep:
        keeper.keep(room)
    if keeper.written:
        said = f"The wall has ended. What it heard is kept in {keeper.written}, with names."
    print(said)
    return 0


async def _run(room: Room, source: Folder | None, asked: argparse.Namespace, keeper: "_Keeper") -> None:
    from .server import Wall

    wall = Wall(room, asked.address, keeper.keep)
    try:
        wall.listen(asked.port)
    except OSError as error:
        raise ValueError(_why_not(asked, error)) from None
    wall.join = how_to_join(asked, wall.invitation)
    print(*words(wall, asked), sep="\n", flush=True)
    if not asked.no_browser:
        await asyncio.to_thread(webbrowser.open, f"http://{wall.place}/?token={wall.once}")
    try:
        await watch(room, source)
    finally:
        await wall.close()


async def watch(room: Room, source: Folder | None) -> None:
    """Tell the room what's new in the folder, for ever."""
    while True:
        if source is not None:
            found = await asyncio.to_thread(source.look)
            take(room, found, source.remarks)
        await asyncio.sleep(LOOK_EVERY)


def how_to_join(asked: argparse.Namespace, invitation: str) -> str:
    """What learners give to `join`. Empty where they needn't, since their files are read."""
    if asked.folder and asked.address == LOOPBACK:
        own = os.environ.get("FLUXLITE_HAND_INS", "")
        is_a_hubs = own and Path(own).parent.resolve() == asked.folder.resolve()
        return "hub" if is_a_hubs else ""
    return invitation


def words(wall: Any, asked: argparse.Namespace) -> list[str]:
    """What to say when the wall is open."""
    lines = [
        f"The wall, for the projector:   http://{wall.place}/?token={wall.token}",
        f"Your desk, with names:         http://{wall.place}/desk?token={wall.token}",
        "Both links are yours alone. Ctrl-C ends the wall.",
    ]
    if wall.join:
        lines += [f'Learners type into a cell:     from fluxlite_course import join; join("{wall.join}")']
        lines += ['                               or join("…", "Ada"), with a name that they choose']
    if asked.folder:
        lines += [f"Guesses are read from {asked.folder.absolute()}."]
    elif asked.address == LOOPBACK:
        lines += [
            "Only this computer can join. For the room's network, end it, and name this computer's address there:"
        ]
        lines += [f"    {this_python()} -m fluxlite wall --address {own_address()}"]
    else:
        lines += ["It's plain HTTP: who listens in on this network can read guesses and names."]
        lines += ["Does nobody get in? Some networks keep computers apart: letters() of fluxlite_course, and paper."]
    return lines


def own_address() -> str:
    """This computer's address in its network, as far as it can tell. Nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # an address for documents, which nobody has; for UDP, it only chooses
        except OSError:
            return "192.168.…"
        return str(asking.getsockname()[0])


def _why_not(asked: argparse.Namespace, error: OSError) -> str:
    """Why the wall can't listen there, and what helps."""
    why = str(error.strerror).partition(" (while")[0]
    if asked.address == LOOPBACK:
        return f"port {asked.port} can't be had ({why}). Is another wall open? --port {asked.port + 1} takes another"
    return (
        f"{asked.address}, port {asked.port}, can't be had ({why}). This computer's address seems to be "
        f"{own_address()}; if the port is taken, --port {asked.port + 1} takes another"
    )


class _Keeper:
    """Writes what was heard into a file, if the teacher wants it."""

    def __init__(self, file: Path | None) -> None:
        self._file = file or Path(f"wall-{datetime.datetime.now():%Y-%m-%d-%H%M}.json")
        self.written = ""

    def keep(self, room: Room) -> str:
        """Write it, readable for this account alone. Returns the file's path."""
        content = json.dumps({"guests": room.record()}, indent=1, ensure_ascii=False) + "\n"
        write_whole(self._file, content.encode("utf-8"))
        os.chmod(self._file, 0o600)
        self.written = str(self._file.absolute())
        return self.written
