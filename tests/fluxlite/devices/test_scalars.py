"""Reading single numbers from a GPU: forbidden, allowed, or pointed out once."""

import subprocess
import sys

import numpy as np
import pytest
from inside import SETTINGS, simulated_gpu
from inside import device as cuda

import fluxlite as fl
from fluxlite.devices import scalars

READS = {
    "float": lambda x: float(x), "int": lambda x: int(x), "complex": lambda x: complex(x), "bool": lambda x: bool(x),
    "if": lambda x: "yes" if x else "no", "item": lambda x: x.item(),
}  # fmt: skip


@pytest.fixture
def x(monkeypatch):
    monkeypatch.setattr(SETTINGS.scalar_reading, "_entries", [])  # whatever was tested before, in the same process
    with fl.simulate_gpu():
        fl.reset_notices()
        yield fl.gpu(np.array([2.0, 3.0], np.float32))


@pytest.mark.on("Simulated", "Metal")
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_allowscalar_False_forbids_reading_one_number_and_names_the_line(device, read):
    x = device(np.array([2.0, 3.0], np.float32))
    with fl.cuda.allowscalar(False):
        with pytest.raises(RuntimeError, match=rf"(?s)from {device} and waits.* line \d+ of test_scalars\.py: "):
            read(x[0])
        with fl.cuda.allowscalar(True):
            assert read(x[0])
        with pytest.raises(RuntimeError, match=r"allowscalar\(False\) (?s:.*) after the loop"):
            read(x[0])
    assert read(x[0])


def test_what_waits_by_name_or_reads_nothing_stays_allowed(x):
    with fl.allowscalar(False):
        assert fl.cpu(x).sum() == 5 and x.get().sum() == 5
        fl.cuda.synchronize()
        assert repr(x[0]) and str(x) and f"{x.sum()}" and x.tolist() == [2, 3]
        x[0] = 7
        assert [row.shape for row in x] == [(), ()] and (x + 1).shape == (2,)
        assert bool(np.ones(1)) and float(np.float32(1)) == 1  # the CPU isn't affected


def test_a_notebook_points_out_the_first_one(x, capsys, monkeypatch):
    float(x[0])
    assert capsys.readouterr().err == ""  # a script may do what it likes
    monkeypatch.setattr(simulated_gpu, "in_notebook", lambda: True)
    for _ in range(3):
        float(x[0])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("[ Info: float(x) reads one number from Simulated:0 and waits") and "line " in line
    fl.reset_notices()
    with fl.allowscalar(True):
        float(x[0])
    assert capsys.readouterr().err == ""


def test_the_line_is_the_users_not_ours(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import numpy as np, fluxlite as fl\nfl.simulate_gpu()\nfl.allowscalar(False)\ndef loop(x):\n"
        "    total = 0.0\n    for step in range(3):\n        total += float(x.sum())\n"
        "try:\n    loop(fl.gpu(np.ones(2)))\nexcept RuntimeError as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert "line 7 of train.py: total += float(x.sum())\n" in out


# -- on CUDA ------------------------------------------------------------------------------------------------------


def test_on_CUDA_it_is_CuPys_own_check(monkeypatch):
    """CuPy's own setting shows here without a GPU. That its arrays check before they wait shows only with one."""
    pytest.importorskip("cupy")
    import cupyx
    from cupy._core import syncdetect

    monkeypatch.setattr(scalars, "usable", lambda backend: True)
    with fl.allowscalar(False):
        assert not syncdetect._is_allowed()
        with cuda.waits_allowed():
            assert syncdetect._is_allowed()
        assert not syncdetect._is_allowed()
        with fl.allowscalar(True):
            assert syncdetect._is_allowed()
        with pytest.raises(cupyx.DeviceSynchronized):
            syncdetect._declare_synchronize()
    assert syncdetect._is_allowed()
    with cuda.waits_allowed():
        assert syncdetect._is_allowed()


@pytest.mark.on("CUDA")
def test_allowscalar_on_a_real_GPU(device):
    import cupyx

    x = device(np.ones(2, np.float32))
    with fl.allowscalar(False):
        for read in (float, bool, int, lambda x: x.item()):
            with pytest.raises(cupyx.DeviceSynchronized):
                read(x[0])
        assert fl.cpu(x).sum() == 2
        device.synchronize()
    assert float(x[0]) == 1
