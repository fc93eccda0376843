"""The lessons as a JupyterLite site: static files for any web server, and nothing to install for those who open it.

    python tools/lite/make.py [FOLDER] [--local FOLDER]

Python runs in the browser, by Pyodide. Its core, our wheels, and those of the lab's other packages that are pure
Python are in the site. NumPy and Matplotlib are compiled for Pyodide: a browser takes them from where Pyodide keeps
them. With ``--local`` they're in the site too, and no browser asks another host: FOLDER holds their wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from pathlib import Path
from typing import Any, NamedTuple

import jupyter_server
import nbformat

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
from listed import read_list  # type: ignore[import-not-found]  # noqa: E402

CONSTRAINTS = ROOT / "constraints.txt"
KERNEL = "jupyterlite-pyodide-kernel==0.6.1"  # the newest whose Pyodide is 0.27
PYTHON = "3.12"  # Pyodide's
# What the lessons and JupyterLite's kernel need, all of it pure Python; constraints.txt has the versions.
PURE = [
    "anywidget", "asttokens", "comm", "decorator", "executing", "ipywidgets",
    "matplotlib-inline", "packaging", "pexpect", "prompt-toolkit", "psygnal", "ptyprocess", "pure-eval", "pygments",
    "stack-data", "tqdm", "traitlets", "typing-extensions", "wcwidth",
]  # fmt: skip
# What this kernel asks for: it knows no newer IPython. Pyodide 0.27 has micropip 0.9.
OLDER = ["ipython==8.37.0", "micropip==0.9.0"]
# JupyterLite's kernel asks for these, and does without them. jedi has 5 MB; IPython completes names without it, too.
EMPTY = ["ssl", "jedi"]
# All that Python gets before the first cell runs: together, not one after the other.
AT_START = [
    "micropip",
    "piplite",
    "ssl",
    "sqlite3",
    "jedi",
    "ipykernel",
    "comm",
    "pyodide_kernel",
    "ipython",
    "fluxlite",
]
# What Pyodide has compiled, with all that it needs; a browser takes it from here.
COMPILED = ["numpy", "matplotlib"]
FROM = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"
# Widgets have a part that JupyterLab loads, whose version is 4.4 here.
EXTENSIONS = ["anywidget==0.11.0", "jupyterlab-widgets==3.0.15"]
# JupyterLite's apps that lessons don't need.
UNUSED = ["repl", "consoles"]
CORE = ["pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"]


class Package(NamedTuple):
    """A wheel as Pyodide's list of packages has it."""

    file: str
    imports: list[str]
    depends: list[str]
    sha256: str
    version: str

    def entry(self, name: str) -> dict[str, Any]:
        return {
            "name": name, "version": self.version, "file_name": self.file, "install_dir": "site",
            "sha256": self.sha256, "package_type": "package", "imports": self.imports, "depends": self.depends,
            "unvendored_tests": False,
        }  # fmt: skip


def run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, cwd=ROOT)


def name_of(wheel: Path) -> str:
    """A package's name, as indexes write it."""
    return wheel.name.partition("-")[0].lower().replace("_", "-").replace(".", "-")


def download(folder: Path, packages: Iterable[str], *options: str | Path) -> None:
    """Bring wheels, each by itself."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    run(*pip, f"--dest={folder}", *options, *packages)


def bring_core(work: Path) -> Path:
    """Pyodide's own files, from its npm package. Gives their folder."""
    if shutil.which("npm") is None:
        raise SystemExit("make lite: Pyodide's core comes from its npm package: install Node.js, from nodejs.org")
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / "tools" / "pyodide" / name, work / name)
    run("npm", "ci", "--no-fund", "--no-audit", f"--prefix={work}")
    return work / "node_modules" / "pyodide"


def bring_wheels(work: Path) -> Path:
    """Our wheel, and what it needs that's pure Python."""
    folder = work / "wheels"
    extensions = work / "extensions"
    for one in (folder, extensions):
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir(parents=True)
    download(extensions, [*EXTENSIONS, KERNEL])
    (kernel,) = extensions.glob("jupyterlite_pyodide_kernel-*.whl")
    unpack_kernel(kernel, folder)
    pure = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none", f"--python-version={PYTHON}"]
    download(folder, PURE, "-c", CONSTRAINTS, *pure)
    download(folder, OLDER, *pure)
    run(sys.executable, "-m", "hatchling", "build", "--target=wheel", f"--directory={folder}")
    for name in EMPTY:
        pack(folder, name, {})
    for module in sorted((HERE / "shims").glob("*.py")):
        pack(folder, module.stem, {module.name: module})
    return folder


def unpack_kernel(extension: Path, folder: Path) -> None:
    """The kernel's own packages: they're in the wheel of its extension."""
    with zipfile.ZipFile(extension) as opened:
        for name in opened.namelist():
            if re.search(r"/pypi/(ipykernel|piplite|pyodide_kernel)-[^/]*\.whl$", name):
                (folder / Path(name).name).write_bytes(opened.read(name))


def pack(folder: Path, name: str, files: dict[str, Path]) -> None:
    """A wheel of these files."""
    info = f"{name}-0.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-0.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for inside, file in files.items():
            wheel.write(file, inside)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def imports_of(wheel: Path) -> list[str]:
    """The names under which a wheel's packages and modules are imported."""
    with zipfile.ZipFile(wheel) as opened:
        tops = {name.partition("/")[0] for name in opened.namelist() if name.endswith((".py", ".pyc"))}
    modules = [top.removesuffix("c").removesuffix(".py") if top.endswith((".py", ".pyc")) else top for top in tops]
    return sorted(module for module in modules if not module.endswith((".dist-info", ".data")))


def requirements_of(wheel: Path, known: set[str]) -> list[str]:
    """Which of the `known` packages a wheel needs."""
    with zipfile.ZipFile(wheel) as opened:
        metadata = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        lines = opened.read(metadata).decode().splitlines()
    needed = [line.partition(":")[2] for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
    names = {re.split(r"[^A-Za-z0-9._-]", one.strip())[0].lower().replace("_", "-") for one in needed}
    return sorted(names & known - {name_of(wheel)})


def package(wheel: Path, known: set[str]) -> Package:
    depends = requirements_of(wheel, known)
    if name_of(wheel) == "fluxlite":  # pictures and widgets are the lab's, and come with it
        depends = sorted({*depends, "anywidget", "filelock", "ipywidgets", "matplotlib", "tqdm"} & known)
    return Package(
        wheel.name, imports_of(wheel), depends, hashlib.sha256(wheel.read_bytes()).hexdigest(), wheel.name.split("-")[1]
    )


def with_all_it_needs(names: Iterable[str], packages: dict[str, Any]) -> set[str]:
    """Names of packages, with those that they depend on, and those that these depend on."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += packages[name]["depends"]
    return found


def compiled_packages(base: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What a browser takes from Pyodide's own address."""
    address = FROM.format(version=base["info"]["version"])
    packages = base["packages"]
    found = {}
    for name in sorted(with_all_it_needs(COMPILED, packages)):
        found[name] = packages[name] | {"file_name": address + packages[name]["file_name"]}
    return found


def stand_in_for_matplotlib(folder: Path) -> None:
    """A wheel of what stands in for Matplotlib where there's none: it draws nothing, and says so."""
    source = ROOT / "tools" / "pyodide" / "stand_in"
    pack(folder, "matplotlib", {file.relative_to(source).as_posix(): file for file in sorted(source.rglob("*.py"))})


def compile_python(core: Path, wheels: Iterable[Path], library: Path) -> None:
    """Put bytecode into all that Python imports. Ours keeps its sources, which lessons show and quote."""
    archives: list[str | Path] = []
    for wheel in wheels:
        if name_of(wheel) == "fluxlite":
            archives.append("--sources")
        archives.append(wheel)
    run("node", HERE / "compile.mjs", core, *archives, library)


def write_lock(core: Path, wheels: Path, local: Path | None, static: Path) -> None:
    """Pyodide's list of packages, and what belongs to it, beside Pyodide's core."""
    base = json.loads((core / "pyodide-lock.json").read_text())
    compiled: dict[str, dict[str, Any]] = {}
    if local is None:
        compiled = compiled_packages(base)
    else:
        for wheel in sorted(local.glob("*.whl")):
            shutil.copy(wheel, wheels)
        if not list(local.glob("numpy-*wasm32.whl")):
            raise SystemExit(f"make lite: --local wants a wheel of NumPy for Pyodide, and there's none in {local}")
        if not list(local.glob("matplotlib-*.whl")):
            stand_in_for_matplotlib(wheels)
    for name in CORE:
        shutil.copy(core / name, static)
    ours = sorted(wheels.glob("*.whl"))
    compile_python(core, ours, static / "python_stdlib.zip")
    known = {name_of(wheel) for wheel in ours} | set(compiled)
    packages = dict(compiled)
    for wheel in ours:
        shutil.copy(wheel, static)
        packages[name_of(wheel)] = package(wheel, known).entry(name_of(wheel))
    text = json.dumps({"info": base["info"], "packages": packages}, indent=1)
    (static / "pyodide-lock.json").write_text(text, encoding="utf-8")


def write_contents(folder: Path) -> None:
    """The learners' copies, and what they read beside them."""
    folder.mkdir(parents=True)
    for path in sorted((ROOT / "notebooks" / "learner").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        # A server joins the lines of a cell and of what it shows; JupyterLite takes them as the file has them.
        nbformat.write(notebook, folder / path.name, split_lines=False)


def settings(wheels: Path) -> dict[str, Any]:
    """What JupyterLite's pages read when they start."""
    (wheel,) = wheels.glob("fluxlite-*.whl")
    version = wheel.name.split("-")[1]
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.js",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": AT_START},
    }
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": f"fluxlite {version}",
            "exposeAppInBrowser": True,
            "contentsStorageName": "fluxlite lessons",  # not by the site's address, which may change
            "settingsStorageName": "fluxlite settings",
            "workspacesStorageName": "fluxlite workspaces",
            "litePluginSettings": {"@jupyterlite/pyodide-kernel-extension:kernel": kernel},
        },
    }


def overrides() -> dict[str, Any]:
    """Settings of JupyterLab's: a lesson is all there, so that the browser finds words, and links lead to them."""
    return {
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "defer", "codeCellConfig": {"lineWrap": True}},
        "@jupyterlab/apputils-extension:themes": {"adaptive-theme": True},
        "@jupyterlab/apputils-extension:notification": {"checkForUpdates": False, "fetchNews": "false"},
        "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 10},  # seconds: a tab is soon closed
    }


def build(work: Path, output: Path) -> None:
    """JupyterLite's own build: the app, its extensions, and what `work` holds."""
    extensions = work / "extensions"
    # JupyterLite leaves out settings from a folder whose name begins as the output's does: so it gets one of ours.
    built = work / "built"
    for one in (built, output):
        shutil.rmtree(one, ignore_errors=True)
    config = {
        "LiteBuildConfig": {
            "lite_dir": str(work / "site"),
            "output_dir": str(built),
            "contents": [str(work / "contents")],
            "federated_extensions": sorted(map(str, extensions.glob("*.whl"))),
            "ignore_sys_prefix": True,
            "no_sourcemaps": True,
        }
    }
    (work / "site" / "jupyter_lite_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    lite = [sys.executable, "-m", "jupyter", "lite", "build"]
    subprocess.run(lite, check=True, cwd=work / "site", stdout=subprocess.DEVNULL)
    shutil.move(built, output)


# -- what we change in JupyterLite, and add to its pages ----------------------------------------------------------

# Each in the text of the app, which the version in pyproject.toml fixes: what's there, and what takes its place.
PATCHES: dict[str, dict[str, str]] = {
    "build": {
        # Where a file couldn't be read or written, nobody told Python, which waited for ever. And answers to two
        # notebooks in one tab could be exchanged.
        "const t=await this._driveContentsProcessor.processDriveRequest(e);": (
            "const t=await window.fluxlite.answer(e,(()=>this._driveContentsProcessor.processDriveRequest(e)));"
        ),
        "postMessage({response:t,": "postMessage({response:t,id:e.id,",
        # A lesson didn't open where a full storage has no room for a second copy of it.
        "await n.setItem(t,r),{id:": "await n.setItem(t,r).catch(window.fluxlite.say_if_full),{id:",
        # On the second visit the worker was taken away, and brought again: not without a network.
        "await this._unregisterOldServiceWorkers(e),": "",
    },
    "extensions/@jupyterlite/pyodide-kernel-extension/static": {
        # Python said "Invalid argument" where the browser has no room.
        "t.status>=400)throw new this.FS.ErrnoError(this.ERRNO_CODES.EINVAL)": (
            't.status>=400)throw new this.FS.ErrnoError(this.ERRNO_CODES[507===t.status?"ENOSPC":"EINVAL"])'
        ),
    },
    "extensions/@jupyter-widgets/jupyterlab-manager/static": {
        # After a reload, when Python starts again, a widget was loading for ever.
        'this.node.textContent="Loading widget..."': "window.fluxlite.show_stored(this.node,e)",
        'this.node.textContent="Error displaying widget: model not found"': "window.fluxlite.show_stored(this.node,e)",
    },
}


def patch(output: Path) -> None:
    """Put right what JupyterLite 0.6 does wrong. Raises `SystemExit` where its text is another one."""
    for folder, patches in PATCHES.items():
        patch_folder(output / folder, patches)


def patch_folder(folder: Path, patches: dict[str, str]) -> None:
    counts = dict.fromkeys(patches, 0)
    for file in sorted(folder.glob("*.js")):
        text = file.read_text(encoding="utf-8")
        patched = text
        for wrong, right in patches.items():
            counts[wrong] += patched.count(wrong)
            patched = patched.replace(wrong, right)
        if patched != text:
            file.write_text(patched, encoding="utf-8")
    missing = [wrong for wrong, count in counts.items() if not count]
    if missing:
        raise SystemExit(f"make lite: JupyterLite's text in {folder} has changed, PATCHES has to follow: {missing}")


def add_ours(output: Path, wheels: Path, lock: dict[str, Any], is_local: bool) -> None:
    """A start page; in JupyterLite's pages, a bar while Python starts; a service worker that keeps all of one build."""
    for name in UNUSED:
        shutil.rmtree(output / name)
    patch(output)
    ours = output / "static" / "fluxlite"
    ours.mkdir(parents=True)
    for name in ("page.js", "page.css", "start.css"):
        shutil.copy(HERE / name, ours)
    files = loaded_files(output, lock)
    (ours / "files.json").write_text(json.dumps(files), encoding="utf-8")
    (ours / "lessons.json").write_text(json.dumps(lessons_of(output)), encoding="utf-8")
    (ours / "notices.txt").write_text(notices(wheels, lock), encoding="utf-8")
    icons = Path(jupyter_server.__file__).parent / "static" / "favicons"
    shutil.copytree(icons, output / "static" / "favicons")  # which JupyterLite 0.6 asks for, and doesn't bring
    (output / "service-worker.js").rename(output / "jupyterlite-worker.js")
    build = build_of(output)
    for app in ("lab", "notebooks", "tree", "edit"):
        page = output / app / "index.html"
        text = page.read_text(encoding="utf-8")
        added = (
            '<link rel="icon" href="../lab/favicon.ico" />\n    '
            '<link rel="stylesheet" href="../static/fluxlite/page.css" />\n    '
            f'<script defer src="../static/fluxlite/page.js" data-root=".." data-build="{build}"></script>\n  </head>'
        )
        page.write_text(text.replace("</head>", added, 1), encoding="utf-8")
    (output / "index.html").write_text(start_page(build, files, lock, is_local), encoding="utf-8")
    write_worker(output, build, lock)


def write_worker(output: Path, build: str, lock: dict[str, Any]) -> None:
    """The service worker, which knows all the files of this build by their hashes."""
    hashes = {}
    for file in sorted(path for path in output.rglob("*") if path.is_file()):
        hashes[file.relative_to(output).as_posix()] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    elsewhere = [one["file_name"] for one in lock["packages"].values() if one["file_name"].startswith("https:")]
    text = (HERE / "worker.js").read_text(encoding="utf-8")
    for word, value in {"build": build, "hashes": hashes, "compiled": sorted(elsewhere)}.items():
        text = text.replace(f'"@{word}@"', json.dumps(value))
    (output / "service-worker.js").write_text(text, encoding="utf-8")


def build_of(output: Path) -> str:
    """A name for exactly these files."""
    digest = hashlib.sha256()
    for file in sorted(path for path in output.rglob("*") if path.is_file()):
        digest.update(file.relative_to(output).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def loaded_files(output: Path, lock: dict[str, Any]) -> list[dict[str, Any]]:
    """What Python loads before the first cell runs, the largest first."""
    packages = lock["packages"]
    static = output / "static" / "pyodide"
    files = [
        ("Python", "pyodide.asm.wasm"),
        ("Python", "pyodide.asm.js"),
        ("Python's own modules", "python_stdlib.zip"),
    ]
    needed = with_all_it_needs([name.replace("_", "-") for name in AT_START], packages)
    files += [(name, packages[name]["file_name"]) for name in sorted(needed, key=_size_of(static, packages))]
    return [
        {"url": f"static/pyodide/{file}", "name": name, "bytes": (static / file).stat().st_size}
        for name, file in files
        if (static / file).exists()  # the others come from Pyodide's address
    ]


def _size_of(static: Path, packages: dict[str, Any]) -> Any:
    def size(name: str) -> int:
        file = static / packages[name]["file_name"]
        return -file.stat().st_size if file.exists() else 0

    return size


def lessons_of(output: Path) -> dict[str, str]:
    """Which edition of each lesson the site has."""
    lessons = sorted((output / "files").glob("*.ipynb"))
    return {lesson.name: hashlib.sha256(lesson.read_bytes()).hexdigest()[:16] for lesson in lessons}


def notices(wheels: Path, lock: dict[str, Any]) -> str:
    """Who wrote what's in the site, and under which licence."""
    rows = [("Pyodide", lock["info"]["version"], "MPL-2.0"), ("JupyterLite and JupyterLab", "", "BSD-3-Clause")]
    texts = []
    for wheel in sorted(wheels.glob("*.whl")):
        name, version, license_name, text = license_of(wheel)
        rows.append((name, version, license_name))
        texts.append(text)
    table = "\n".join(f"{name} {version}: {license_name}" for name, version, license_name in rows)
    return (
        "This site has software of others, as Python's bytecode:\n\n"
        + table
        + "\n\n"
        + "\n\n".join(filter(None, texts))
    )


def license_of(wheel: Path) -> tuple[str, str, str, str]:
    """A wheel's name, version and licence, and the licence's text, if the wheel has it."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        metadata = message_from_bytes(opened.read(next(x for x in names if x.endswith(".dist-info/METADATA"))))
        found = [x for x in names if re.search(r"\.dist-info/(licenses/)?(LICEN[SC]E|COPYING|NOTICE)[^/]*$", x)]
        texts = [opened.read(x).decode("utf-8", "replace") for x in found]
    classifiers = [x.rpartition(":: ")[2] for x in metadata.get_all("Classifier", []) if x.startswith("License")]
    license_name = (
        metadata["License-Expression"] or ", ".join(classifiers) or (metadata["License"] or "").split("\n")[0]
    )
    head = f"{'-' * 100}\n{metadata['Name']}\n\n"
    return metadata["Name"], metadata["Version"], license_name, head + "\n".join(texts) if texts else ""


ROW = re.compile(r"^\| \[(?P<title>[^]]+)\]\((?P<file>[^)]+\.ipynb)\) \| (?P<minutes>\d+) \| (?P<about>.*?) \|$")


def lessons_table() -> str:
    """The lessons, as README of the notebooks lists them."""
    parts: list[str] = []
    for line in (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if line.startswith("## ") and not line.startswith("## Every"):
            parts.append(f"{'</table>' if parts else ''}<table><caption>{html.escape(line[3:])}</caption>")
        elif row and parts:
            address = f"notebooks/index.html?path={row['file']}"
            parts.append(
                f'<tr><td class="lesson"><a href="{address}">{html.escape(row["title"])}</a></td>'
                f'<td>{with_code(row["about"])}</td><td class="minutes">{row["minutes"]} min</td></tr>'
            )
    return "\n".join([*parts, "</table>"])


def with_code(text: str) -> str:
    """Markdown's `code` in HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def otherwise_list() -> str:
    """The cells that show something else in a browser."""
    rows = [
        f"<li>Lesson {one.lesson}, <code>{html.escape(one.cell.splitlines()[0])}</code>: {with_code(one.why)}</li>"
        for one in read_list()
    ]
    return f"<ul>{''.join(rows)}</ul>"


def start_page(build: str, files: list[dict[str, Any]], lock: dict[str, Any], is_local: bool) -> str:
    megabytes = sum(row["bytes"] for row in files) / 1e6
    compiled = "NumPy and Matplotlib are those that Pyodide's makers compiled, and come from their address."
    if is_local:
        compiled = "NumPy is in this site too; nothing is loaded from another host."
        if "matplotlib-0.0" in lock["packages"]["matplotlib"]["file_name"]:
            compiled += " A stand-in takes Matplotlib's place, and draws nothing."
    tried = (
        "Tried in Chromium, with the files of this site alone: lessons 00, 05, 07 and 09; in Firefox: lesson 00. In "
        "Node.js with the same Pyodide: all lessons. Not tried: Safari and Edge; NumPy and Matplotlib from Pyodide's "
        "own address."
    )
    python = lock["info"]["python"]
    text = (HERE / "start.html").read_text(encoding="utf-8")
    for word, value in {
        "build": build, "megabytes": f"{megabytes:.0f}", "lessons": lessons_table(), "python": python,
        "pyodide": lock["info"]["version"], "compiled": compiled, "otherwise": otherwise_list(), "tried": tried,
    }.items():  # fmt: skip
        text = text.replace(f"@{word}@", value)
    return text


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make a site that runs the lessons in a browser.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "lite", help="where it goes")
    parser.add_argument("--local", type=Path, help="a folder with wheels of NumPy and Matplotlib for Pyodide")
    asked = parser.parse_args(arguments)
    work = ROOT / "build" / "lite-parts"
    shutil.rmtree(work / "site", ignore_errors=True)
    shutil.rmtree(work / "contents", ignore_errors=True)
    (work / "site").mkdir(parents=True)
    static = work / "pyodide"
    shutil.rmtree(static, ignore_errors=True)
    static.mkdir()
    core = bring_core(work)
    wheels = bring_wheels(work)
    write_lock(core, wheels, asked.local, static)
    write_contents(work / "contents")
    (work / "site" / "jupyter-lite.json").write_text(json.dumps(settings(wheels), indent=1), encoding="utf-8")
    output = asked.folder.absolute()
    (work / "site" / "overrides.json").write_text(json.dumps(overrides(), indent=1), encoding="utf-8")
    build(work, output)
    shutil.copytree(static, output / "static" / "pyodide")
    lock = json.loads((static / "pyodide-lock.json").read_text(encoding="utf-8"))
    add_ours(output, wheels, lock, is_local=asked.local is not None)
    print(f"The site is in {asked.folder}. To look at it: {sys.executable} -m http.server --directory {asked.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
