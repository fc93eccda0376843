"""Reading single numbers from a GPU: forbidden, allowed, or pointed out once."""

import contextlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from inside import text_of

import fluxlite as fl
from fluxlite.devices import scalars

READS = {
    "float": lambda x: float(x),
    "int": lambda x: int(x),
    "complex": lambda x: complex(x),
    "bool": lambda x: bool(x),
    "if": lambda x: "yes" if x else "no",
    "item": lambda x: x.item(),
}


@pytest.fixture
def x(monkeypatch):
    monkeypatch.setattr(scalars._State, "allowed", None)  # whatever was tested before, in the same process
    with fl.simulate_gpu():
        fl.reset_notices()
        yield fl.gpu(np.array([2.0, 3.0], np.float32))


def test_a_quoted_line_of_a_list_is_cut_at_its_comma(tmp_path):
    (tmp_path / "looks.py").write_text('looks = [\n    float(x),\n]\n', encoding="utf-8")
    assert text_of((str(tmp_path / "looks.py"), 2)) == "line 2 of looks.py: float(x)"


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_S3_R5_allowscalar(x, read):
    """`allowscalar(false)`: a read of one number is an error with the line to change; `allowscalar() do` allows it."""
    with fl.cuda.allowscalar(False):
        with pytest.raises(
            RuntimeError, match=r"allowscalar\(False\) forbids: line \d+ of test_scalars\.py: .*lambda x"
        ):
            read(x[0])
        with fl.cuda.allowscalar(True):
            assert read(x[0])
        with pytest.raises(RuntimeError, match="after the loop"):
            read(x[0])
    assert read(x[0])


@pytest.mark.on("Simulated", "Metal")
def test_it_holds_for_all_arrays_of_ours(device):
    x = device(np.ones(2, np.float32))
    with fl.allowscalar(False):
        for read in READS.values():
            with pytest.raises(RuntimeError, match=f"from {device} and waits"):
                read(x[0])
        assert fl.cpu(x).sum() == 2 and repr(x)
    assert float(x[0]) == 1


def test_what_waits_by_name_or_reads_nothing_stays_allowed(x):
    with fl.allowscalar(False):
        assert fl.cpu(x).sum() == 5 and x.get().sum() == 5
        fl.cuda.synchronize()
        assert repr(x[0]) and str(x) and f"{x.sum()}" and x.tolist() == [2, 3]
        x[0] = 7
        assert [row.shape for row in x] == [(), ()] and (x + 1).shape == (2,)
        assert bool(np.ones(1)) and float(np.float32(1)) == 1  # the CPU isn't affected


def test_it_stays_until_it_is_called_again(x):
    before = fl.allowscalar(False)
    assert repr(before) == "scalar reads are forbidden"
    with pytest.raises(RuntimeError):
        float(x[0])
    fl.allowscalar()
    assert float(x[0]) == 2 and repr(before) == "scalar reads are allowed"
    with before:
        pass
    assert scalars._State.allowed is None


def test_a_script_may_do_what_it_likes(x, capsys):
    assert float(x[0]) == 2 and capsys.readouterr().err == ""


def test_F46_a_notebook_points_out_the_first_one(x, capsys, monkeypatch):
    monkeypatch.setattr(scalars, "in_notebook", lambda: True)
    for _ in range(3):
        float(x[0])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("[ Info: float(x) reads one number from Simulated:0 and waits") and "line " in line
    fl.reset_notices()
    with fl.allowscalar(True):
        float(x[0])
    assert capsys.readouterr().err == ""


def test_in_a_real_kernel():
    """It shows the cell's line, since a file name such as 123.py would mean nothing."""
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cell = nbformat.v4.new_code_cell(
        "import numpy as np, fluxlite as fl\nfl.simulate_gpu()\nx = fl.gpu(np.ones(2, np.float32))\ntotal = float(x[0])"
    )
    notebook = nbformat.v4.new_notebook(cells=[cell])
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    out = "".join(output["text"] for output in notebook.cells[0].outputs if output.output_type == "stream")
    out = " ".join(out.split())  # a page gets the message in lines
    assert "float(x) reads one number" in out and "(line 4 of the cell: total = float(x[0]))" in out


def test_the_line_is_the_users_not_ours(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""
        import numpy as np
        import fluxlite as fl
        fl.simulate_gpu()
        fl.allowscalar(False)
        def loop(x):
            total = 0.0
            for step in range(3):
                total += float(x.sum())
        try:
            loop(fl.gpu(np.ones(2)))
        except RuntimeError as error:
            print(error)
        """)
    )
    out = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env={**os.environ}
    ).stdout
    assert "line 9 of train.py: total += float(x.sum())\n" in out


# -- on CUDA ------------------------------------------------------------------------------------------------------


def test_on_CUDA_it_is_CuPys_own_check(monkeypatch, capsys):
    """CuPy's own setting shows here without a GPU. That its arrays check before they wait shows only with one."""
    cupyx = pytest.importorskip("cupyx")
    from cupy._core import syncdetect
    from inside import device as cuda
    from inside import waits

    monkeypatch.setattr(cuda, "cuda_functional", lambda: True)
    with fl.allowscalar(False):
        assert not syncdetect._is_allowed()
        with waits.waiting():
            assert syncdetect._is_allowed()
        assert not syncdetect._is_allowed()
        with fl.allowscalar(True):
            assert syncdetect._is_allowed()
        with pytest.raises(cupyx.DeviceSynchronized):
            syncdetect._declare_synchronize()
    assert syncdetect._is_allowed()
    with waits.waiting():
        assert syncdetect._is_allowed()
    assert capsys.readouterr().err.count("CuPy checks this") == 1


def test_our_own_waits_on_CUDA_are_exempt(monkeypatch):
    from inside import device as cuda

    inside = []

    class Waiting:
        def __enter__(self):
            inside.append("in")

        def __exit__(self, *_):
            inside.append("out")

        def asnumpy(self, x, order):
            inside.append("wait")

    quiet = Waiting()
    monkeypatch.setattr(cuda, "waiting", lambda: quiet)
    monkeypatch.setattr(cuda.CUDADevice, "_current", lambda self: contextlib.nullcontext())
    monkeypatch.setattr(cuda, "_cupy", lambda: quiet)
    cuda.CUDADevice(0, "a card").download(np.ones(2))
    assert inside == ["in", "wait", "out"]


@pytest.mark.on("CUDA")
def test_S3_R5_on_a_real_GPU(device):
    import cupyx

    x = device(np.ones(2, np.float32))
    with fl.allowscalar(False):
        for read in (float, bool, int, lambda x: x.item()):
            with pytest.raises(cupyx.DeviceSynchronized):
                read(x[0])
        assert fl.cpu(x).sum() == 2
        device.synchronize()
    assert float(x[0]) == 1
