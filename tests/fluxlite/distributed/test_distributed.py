"""Several workers on this computer: `program_checks.py` and `program_ends.py`, started by mpiexec."""

import re
import subprocess
import sys
from pathlib import Path

import on_workers
import pytest
from inside import main
from on_workers import needs_mpi, reports, run

NAMES = re.findall(r"^def (check_\w+)", Path(on_workers.PROGRAMS, "program_checks.py").read_text("utf-8"), re.M)
pytestmark = needs_mpi
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """What each check said, on 2, 3 and 1 workers: {(workers, check): {rank: "" or a traceback}}."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for workers in (2, 3, 1) if request.config.option.slow else (2,):  # the first writes a file for the others
        done = run(workers, "program_checks.py", folder)
        for name, rank, trouble in reports(done):
            found.setdefault((workers, name), {})[rank] = trouble
        found[workers] = done
    return found


@pytest.mark.parametrize("workers", [pytest.param(1, marks=SLOW), 2, pytest.param(3, marks=SLOW)])
@pytest.mark.parametrize("name", NAMES)
def test_on_workers(outcomes, workers, name):
    found = outcomes.get((workers, name), {})
    assert not any(found.values()), "\n".join(found.values())
    assert sorted(found) == list(range(workers)), outcomes[workers].stderr


@pytest.mark.parametrize("by_launcher", [True, pytest.param(False, marks=SLOW)], ids=["launcher", "mpiexec"])
def test_a_killed_worker_ends_the_others(by_launcher, tmp_path):
    done = run(3, "program_ends.py", "killed", tmp_path / "run.safetensors", by_launcher=by_launcher)
    assert done.returncode != 0 and "@" not in done.stdout
    if by_launcher:
        assert "worker 1 was killed by signal 9" in done.stderr, done.stderr


def test_an_uncaught_exception_is_shown_once_under_its_worker(tmp_path):
    done = run(3, "program_ends.py", "raises", tmp_path / "run.safetensors", by_launcher=True)
    assert done.returncode != 0 and done.stderr.count("Traceback") == 1, done.stderr
    assert re.search(r"worker 1 of 3 \(process \d+ on \S+\) ended:\nTraceback", done.stderr)
    for rank in (0, 2):
        assert re.search(rf"worker {rank} ends, too: worker 1 of 3 .*ValueError: planted", done.stderr)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("exits", "worker 0 ends, too: worker 1 of 2 .* ended the training: SystemExit: 3"),
        ("leaves", "worker 1 ended with exit status 5"),
    ],
)
def test_a_worker_that_leaves_ends_the_others(how, words, tmp_path):
    done = run(2, "program_ends.py", how, tmp_path / "run.safetensors", by_launcher=True)
    assert done.returncode != 0 and re.search(words, done.stderr), done.stderr


def test_ctrl_c_stops_all_after_the_same_step(tmp_path):
    code = "import os, sys; os.environ['LAUNCHER'] = str(os.getpid()); from fluxlite.distributed.__main__ import main; "
    code += "sys.exit(main(sys.argv[1:]))"
    program = [str(on_workers.PROGRAMS / "program_ends.py"), "interrupted", str(tmp_path / "run.safetensors")]
    done = subprocess.run(
        [sys.executable, "-c", code, "-n", "3", *program],
        env=on_workers.environment(), capture_output=True, text=True, timeout=on_workers.LIMIT,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("@")]
    assert done.returncode == 0, done.stderr
    assert len(lines) == 3 and len(set(lines)) == 1 and lines[0].startswith("@interrupted"), done.stdout


@pytest.mark.parametrize("number", ["0", "-1", "2.5", "x", "9" * 5_000])
def test_the_launcher_starts_no_impossible_number_of_workers(number, capsys):
    with pytest.raises(SystemExit):
        main([f"-n={number}", "train.py"])
    assert "a number of workers is at least 1 and at most 10,000, got " in capsys.readouterr().err


def test_the_launcher_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("fluxlite.distributed.__main__.find_mpiexec", lambda: None)
    assert main(["-n", "2", "train.py"]) == 2
    assert "pip install mpi4py" in capsys.readouterr().err


def test_where_no_program_can_be_started_the_launcher_says_so(no_programs, capsys):
    assert main(["-n", "2", "train.py"]) == 2
    assert capsys.readouterr().err.startswith("no other program can be started here, and each worker is one")


def test_the_launcher_gives_the_arguments_on_and_limits_the_threads(tmp_path):
    show = "import os, sys; sys.stdout.write('\\n@%d%s\\n' % (len(sys.argv), os.environ['OMP_NUM_THREADS']))"
    (tmp_path / "show.py").write_text(show)
    environment = {k: v for k, v in on_workers.environment().items() if not k.endswith("_NUM_THREADS")}
    command = [sys.executable, "-m", "fluxlite.distributed", "-n", "2", str(tmp_path / "show.py"), "-n", "x"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=on_workers.LIMIT)
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.split() if line]
    assert len(found) == 2 and all(re.fullmatch(r"@3\d+", line) for line in found), done.stdout
