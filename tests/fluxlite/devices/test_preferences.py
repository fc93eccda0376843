"""The preference for a backend: the file, its table, and what takes precedence."""

import os

import pytest
from inside import preference_file, stored_backend

import fluxlite as fl


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A separate project, where tests may write preferences."""
    monkeypatch.setenv("FLUXLITE_PROJECT", str(tmp_path))
    return tmp_path


def test_gpu_backend_is_written_into_the_projects_file_and_deleted_by_None(project, capsys):
    fl.gpu_backend("AMDGPU")
    assert (project / "LocalPreferences.toml").read_text() == '[fluxlite]\ngpu_backend = "AMDGPU"\n'
    assert capsys.readouterr().err == (
        "┌ Info: New GPU backend set: AMDGPU.\n"
        "└ gpu and get_device use it from now on; it is kept in LocalPreferences.toml.\n"
    )
    fl.gpu_backend(None)
    assert not list(project.iterdir()) and stored_backend() is None
    assert "└ gpu and get_device choose automatically from now on.\n" in capsys.readouterr().err
    fl.gpu_backend(None)
    assert capsys.readouterr().err == "[ Info: There is no GPU backend preference to delete.\n"
    with pytest.raises(ValueError, match="Unsupported backend: Vulkan.*CUDA, AMDGPU, Metal, CPU, Simulated"):
        fl.gpu_backend("Vulkan")
    assert not list(project.iterdir())


def test_GPU_BACKEND_is_what_is_preferred_also_if_it_is_not_there(project):
    with fl.pretend(preference="CUDA"):
        assert fl.GPU_BACKEND == "CUDA" and fl.gpu_name() == "CPU"
        fl.gpu_backend("CPU")  # a pretended preference writes no file
        assert stored_backend() == fl.GPU_BACKEND == "CPU"
        fl.gpu_backend(None)
        assert stored_backend() is None
    assert not list(project.iterdir())
    assert "GPU_BACKEND" in dir(fl) and "GPU_BACKEND" not in vars(fl)


def test_what_counts_more_is_said(project, capsys, monkeypatch):
    monkeypatch.setenv("FLUXLITE_GPU_BACKEND", "CPU")
    fl.gpu_backend("CUDA")
    assert "FLUXLITE_GPU_BACKEND counts more, and says CPU" in capsys.readouterr().err
    monkeypatch.delenv("FLUXLITE_GPU_BACKEND")
    with fl.simulate_gpu():
        fl.gpu_backend("CPU")
    assert "simulate_gpu() counts more, and says Simulated" in capsys.readouterr().err


# -- the folder ---------------------------------------------------------------------------------------------------


def test_the_project_is_the_nearest_folder_with_a_pyproject(tmp_path, monkeypatch):
    inner = tmp_path / "project" / "notebooks" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.delenv("FLUXLITE_PROJECT")
    monkeypatch.chdir(tmp_path)
    assert preference_file() == str(tmp_path / "LocalPreferences.toml")  # without a project, the working directory
    (tmp_path / "project" / "pyproject.toml").touch()
    monkeypatch.chdir(inner)
    assert preference_file() == str(tmp_path / "project" / "LocalPreferences.toml")
    monkeypatch.setenv("FLUXLITE_PROJECT", str(tmp_path / "elsewhere"))
    fl.gpu_backend("CPU")
    assert preference_file() == str(tmp_path / "elsewhere" / "LocalPreferences.toml")
    assert os.path.isfile(preference_file())


# -- the file -----------------------------------------------------------------------------------------------------

OTHERS = '# mine\n[other]\nx = 1  # one\n\n[other.deeper]\ny = ["[fluxlite]"]\n'


OURS = '[fluxlite]\ngpu_backend = "{}"\n'


@pytest.mark.parametrize("before", ["", OTHERS, "[other]\nx = 1", "[other]\r\nx = 1\r\n"])
def test_gpu_backend_writes_a_table_at_the_end_and_changes_nothing_else(project, before):
    path = project / "LocalPreferences.toml"
    path.write_bytes(before.encode())
    for name in ("CPU", "CUDA", "CUDA", None, "Metal"):
        fl.gpu_backend(name)
        assert stored_backend() == name
        text = path.read_bytes().decode() if path.exists() else ""
        assert text.startswith(before) and text[len(before) :].strip() == (OURS.format(name).strip() if name else "")
    path.write_text(OURS.format("CPU"))
    fl.gpu_backend(None)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('fluxlite = {gpu_backend = "CUDA"}', "CPU"), ('fluxlite.gpu_backend = "CUDA"', None), ("fluxlite = 3", "CPU"),
        ("[fluxlite]\nseed = 3\n", "CPU"), ('[fluxlite]\ngpu_backend = "CUDA"  # fast\n', None),
        (OURS.format("CUDA") + OTHERS, "CPU"),
    ],
)  # fmt: skip
def test_a_table_that_the_user_wrote_is_left_to_the_user(project, text, name):
    path = project / "LocalPreferences.toml"
    path.write_text(text)
    line = f'write gpu_backend = "{name}" there' if name else "delete gpu_backend there"
    with pytest.raises(ValueError, match=rf"\[fluxlite\] of yours: {line}"):
        fl.gpu_backend(name)
    assert path.read_text() == text


def test_a_file_that_is_nested_too_deep_is_no_preference(project, capsys):
    (project / "LocalPreferences.toml").write_text("x = " + "[" * 20_000)
    assert fl.gpu_name()
    assert capsys.readouterr().err.count("LocalPreferences.toml can't be read") == 1


def test_a_broken_file_is_no_preference_and_is_not_overwritten(project, capsys):
    path = project / "LocalPreferences.toml"
    path.write_text("[fluxlite\n")
    assert fl.GPU_BACKEND == fl.gpu_name() == fl.get_device().backend
    assert capsys.readouterr().err.count("LocalPreferences.toml can't be read") == 1
    with pytest.raises(ValueError, match="line 1"):
        fl.gpu_backend("CPU")
    assert path.read_text() == "[fluxlite\n"
