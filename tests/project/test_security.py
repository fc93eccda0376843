"""What SECURITY.md promises, as far as no other test holds it: no network, no pickle, no files but the listed ones."""

import ast
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fluxlite"
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TEACHING = (ROOT / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")

USED = """
import sys
forbidden = ("socket.connect", "socket.bind", "socket.getaddrinfo", "pickle.find_class", "urllib.Request")
def refuse(event, arguments):
    if event in forbidden:
        print("BROKEN", event, arguments, flush=True)
sys.addaudithook(refuse)
from pathlib import Path
import numpy as np
import fluxlite as fl
from fluxlite.__main__ import main
from fluxlite_course import check, guess, start
with fl.simulate_gpu():
    model = fl.gpu(fl.Chain(fl.Dense(2, 3, np.tanh), fl.Dense(3, 1)))
    data = [(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32))]
    state = fl.setup(fl.Descent(0.1), model)
    fl.train(lambda m, x, y: fl.mse(m(x), y), model, fl.gpu(data), state, epochs=1, checkpoint="run.safetensors")
    fl.save("model.safetensors", model=model)
    fl.load("model.safetensors", model=model)
start("02")
guess("02-C", "b")
check("00.1", 16_384)
Path("my-course").mkdir()
from fluxlite_course.kit.copies import hand_out
hand_out(Path("my-course"))
print([main(["doctor"]), main(["check"]), main(["handin", "Ada"]), main(["class", "."]), main(["class", ".", "--csv"])])
"""


def test_nothing_is_fetched_sent_or_unpickled_and_no_file_is_left_over(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("FLUXLITE_PROGRESS", None)
    ran = subprocess.run([sys.executable, "-c", USED], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "BROKEN" not in ran.stdout and "[0, 0, 0, 0, 0]" in ran.stdout
    left = {path.name for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".ipynb"}
    kept = {"run.safetensors", "model.safetensors", "progress.json", "handin-Ada.zip", "class.csv"}
    assert left <= {*kept, ".progress.json.lock"} and kept <= left
    assert "`.progress.json.lock`" in PAGE


def test_nothing_of_ours_can_unpickle_or_open_a_connection():
    forbidden = {"pickle", "marshal", "shelve", "dill", "socket", "urllib", "http", "ftplib", "requests", "ssl"}
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "simgpu").rglob("*.py"), *(ROOT / "fluxlite_course").rglob("*.py")]:
        # The workers of one training send each other pickles: they're processes of one program. And `x.dump` of a GPU's
        # array writes one, as CuPy's does. The page says both.
        may_pickle = path in (PACKAGE / "distributed" / "world.py", ROOT / "simgpu" / "arrays.py")
        here = forbidden - {"pickle"} if may_pickle else forbidden
        # The wall listens, and a lab that has joined sends to it: the page says what.
        if path.parent == ROOT / "fluxlite_course" / "kit" / "wall":
            here = here - {"socket", "http"}
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in here) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not {name.partition(".")[0] for name in names} & here, path
        assert "allow_pickle=True" not in text, path
    assert "## The wall" in PAGE and "`.wall.json`" in PAGE
    assert "send each other pickles" in PAGE and "x.dump(file)" in PAGE
    assert "pickle.load" not in (ROOT / "simgpu" / "arrays.py").read_text(encoding="utf-8")
