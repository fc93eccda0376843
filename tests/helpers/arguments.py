"""Bad arguments for every public name, and a judge of what is said about them.

``python tests/helpers/arguments.py 20000`` makes so many calls, ``nox -s arguments -- 20000`` too, and the tests a few.
A call replaces one or more of the arguments that work, or leaves one out. A number decides which, so a call can be made
again: ``python tests/helpers/arguments.py 1 --from 4711`` shows its verdict. The calls run in other processes, in a
folder of their own, with limits for time and memory.

An error is **clear** if its text or its notes name the function or the layer that was called, or a place in an
argument, ``layers[0]``. What comes from the caller's own function or object is **theirs**.
"""

from __future__ import annotations

import collections
import contextlib
import faulthandler
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bad_arguments import BAD, FOLDER, LEFT_OUT, TARGETS, Target, reset
from good_arguments import fresh
from inside import LayerError

import fluxlite

SECONDS, GIGABYTES, BATCH = 30, 4, 1000  # for one call; for a process; calls in a process
FLUXLITE = str(Path(fluxlite.__file__).parent) + os.sep
CALLERS = {str(path) for path in Path(__file__).resolve().parent.glob("*arguments.py")}


class Verdict(NamedTuple):
    """A call is "taken", or its error is "clear", "unclear", "internal" or "theirs", or it's a "hang" or a "crash"."""

    kind: str
    text: str = ""


# -- the judge ------------------------------------------------------------------------------------------------------


def judge(name: str, bad: dict[str, Any], error: BaseException) -> Verdict:
    """Whether `error` names the function `name`, or the layer, that got the `bad` arguments."""
    message = "\n".join([str(error), *getattr(error, "__notes__", ())])
    text = f"{type(error).__name__}: {message[:300]}"
    if _is_theirs(message, bad, error):
        return Verdict("theirs", text)
    own = getattr(getattr(fluxlite, name, None), "__name__", "")  # of σ, sigmoid
    names = "|".join(re.findall(r"[^\W_]\w*", f"{name} {own}"))  # "Momentum update", "Conv, strided.__call__"
    named = isinstance(error, LayerError) or re.search(rf"(?<!\w)({names})\b|\w\[[^\]]+\]", message)
    return Verdict("clear" if named and not isinstance(error, SystemError) else "unclear", text)


def _is_theirs(message: str, bad: dict[str, Any], error: BaseException) -> bool:
    """The error is that of a function or object of the caller, or of calling it as it can't be called."""
    places = [place.filename for place in traceback.extract_tb(error.__traceback__)]
    ours = next((number for number, name in enumerate(places) if name.startswith(FLUXLITE)), len(places))
    if CALLERS & set(places[ours:]):  # fluxlite has called a function of the caller's
        return True
    called = [value for value in bad.values() if callable(value)]
    own = [getattr(value, "__qualname__", type(value).__call__.__qualname__) for value in called]
    names = "|".join(re.escape(one.rpartition(">.")[2]) for one in own)
    return bool(own) and bool(re.search(rf"(^|\.|\s)({names})\(\) (takes|missing|got)", message))


# -- a call ---------------------------------------------------------------------------------------------------------


def bad_call(number: int) -> tuple[Target, dict[str, Any], dict[str, str]]:
    """Call `number`: what is called, with which arguments, and which are bad: parameter to the name of the value."""
    chance = random.Random(number)
    target = TARGETS[number % len(TARGETS)]
    arguments, bad = fresh(target), {}
    if chance.random() < 0.02 and target.needed:
        bad[chance.choice(target.needed)] = LEFT_OUT
        gone = {*bad, *target.several}  # what comes after it would stand in its place
        return target, {name: value for name, value in arguments.items() if name not in gone}, bad
    for name in chance.sample(list(arguments), min(len(arguments), chance.choice((1, 1, 1, 2, 3)))):
        kinds = [kind for kind in BAD if (name, kind) not in target.fine and kind not in target.fine]
        bad[name] = chance.choice(kinds)
        arguments[name] = BAD[bad[name]]()
    return target, arguments, bad


def call_in_words(number: int) -> str:
    """``4711 softmax(axis=text)``, without making it."""
    target, _, bad = bad_call(number)
    return f"{number} {target.name}({', '.join(f'{name}={kind}' for name, kind in bad.items())})"


def made(number: int) -> Verdict:
    """Call `number`, made and judged."""
    target, arguments, bad = bad_call(number)
    wrong = {name: arguments.get(name, LEFT_OUT) for name in bad}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            target.call(arguments)
    except BaseException as error:  # noqa: B036  (SystemExit too)
        return judge(target.name, wrong, error)
    finally:
        reset()
    return Verdict("taken")


# -- many calls, in other processes ---------------------------------------------------------------------------------


def limit() -> None:
    """Limits for this process: memory, files, no core dumps. Not on every system."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        most = {resource.RLIMIT_AS: GIGABYTES << 30, resource.RLIMIT_FSIZE: 1 << 28, resource.RLIMIT_CORE: 0}
        for kind, number in most.items():
            resource.setrlimit(kind, (number, number))
    sys.set_int_max_str_digits(0)


def serve(first: int, count: int, results: str, seconds: float = SECONDS) -> None:
    """Make the calls from `first` on, each with a limit of time. Their verdicts go to `results`, one a line."""
    limit()
    warnings.simplefilter("ignore")
    with open(results, "a", encoding="utf-8") as file:
        for number in range(first, first + count):
            print(json.dumps([number, "begun", ""]), file=file, flush=True)
            faulthandler.dump_traceback_later(seconds, exit=True)
            verdict = made(number)
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps([number, *verdict]), file=file, flush=True)


def run(first: int, count: int, before: str = "") -> Iterator[tuple[str, Verdict]]:
    """The verdicts of so many calls, and the calls in words. A process that hangs or dies is replaced.

    `before` is code that each process runs first.
    """
    end = first + count
    with tempfile.TemporaryDirectory(prefix="fluxlite-arguments-") as folder:
        while first < end:
            results = Path(folder, f"results{first}")
            died = process(first, min(BATCH, end - first), results, before)
            lines = results.read_text(encoding="utf-8").splitlines()
            for number, kind, text in map(json.loads, lines):
                first = number + 1
                if kind != "begun":
                    yield call_in_words(number), Verdict(kind, text)
            if kind == "begun":
                yield call_in_words(number), Verdict("hang" if "Timeout (" in died else "crash", died[-1500:])


def process(first: int, count: int, results: Path, before: str) -> str:
    """One process with `count` calls; gives what it said before it died. Raises if it doesn't get to the first call."""
    work = results.with_name(f"work{first}")
    work.mkdir()
    here = Path(__file__).resolve()
    path = os.pathsep.join([str(here.parents[2]), str(here.parent), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ, "PYTHONPATH": path, "FLUXLITE_PROJECT": str(work), "HOME": str(work), FOLDER: str(work),
        "FLUXLITE_PROGRESS": str(work / "progress.json"), "BROWSER": "false", "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    serve = f"arguments.serve({first}, {count}, {str(results)!r}, SECONDS)"
    code = f"import arguments\nSECONDS = {SECONDS}\n{before}\n{serve}"
    done = subprocess.run([sys.executable, "-c", code], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace")  # fmt: skip
    if not results.exists():
        raise RuntimeError(done.stderr)
    return done.stderr


def summary(found: list[tuple[str, Verdict]]) -> tuple[collections.Counter, list[str]]:
    """How often each kind, and a line for each error that won't do."""
    kinds = collections.Counter(verdict.kind for _, verdict in found)
    wont_do = ("unclear", "hang", "crash")
    return kinds, [f"{v.kind}: {words}\n    {v.text}" for words, v in found if v.kind in wont_do]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    first = int(sys.argv[sys.argv.index("--from") + 1]) if "--from" in sys.argv else 0
    found = list(run(first, count))
    kinds, lines = summary(found)
    print(*(lines if count > 10 else found), sep="\n")
    print(f"{len(found):,} calls of {len(TARGETS)} names:", ", ".join(f"{k} {n:,}" for k, n in kinds.most_common()))
    unclear, lost = kinds["unclear"], kinds["hang"] + kinds["crash"]
    if lost or unclear > 0.01 * len(found):
        raise SystemExit(f"{unclear} errors are unclear, {lost} calls hang or die")


if __name__ == "__main__":
    main()
