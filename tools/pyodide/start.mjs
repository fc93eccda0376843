// Run a notebook's cells in Pyodide: node start.mjs PYODIDE WHEELS FOLDER
//
// PYODIDE is the folder of its npm package. All of WHEELS is installed. FOLDER has cells.json and a folder
// notebooks; the results go there, too. `without.py` starts this, and `run_cells.py` does the rest.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, wheels, folder] = process.argv.slice(2);
const here = import.meta.dirname;
// Node would print the line that raised, and Pyodide's lines have a megabyte.
process.on("uncaughtException", (error) => {
    console.error(String(error.message).trim().slice(-2000));
    process.exit(1);
});
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));

// Inline pictures are Jupyter's. The project's folder and the record of progress are none of the user's.
const env = {
    HOME: "/home/pyodide",
    MPLBACKEND: "module://matplotlib_inline.backend_inline",
    FLUXLITE_PROGRESS: "/home/pyodide/progress.json",
    FLUXLITE_PROJECT: "/home/pyodide",
};
const python = await loadPyodide({ env });
const site = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
for (const name of fs.readdirSync(wheels).filter((name) => name.endsWith(".whl"))) {
    python.unpackArchive(new Uint8Array(fs.readFileSync(path.join(wheels, name))), "wheel", { extractDir: site });
}
const mounted = { "/mnt/tools": path.dirname(here), "/mnt/stand_in": path.join(here, "stand_in"), "/mnt/folder": folder };
for (const [place, source] of Object.entries(mounted)) {
    python.FS.mkdirTree(place);
    python.mountNodeFS(place, source);
}
// Pyodide doesn't know the processor's time; Node does.
python.globals.set("processor_seconds", () => {
    const used = process.cpuUsage();
    return (used.user + used.system) / 1e6;
});
// The notebooks' own files are in Pyodide's memory, as in a browser.
python.runPython(`
import os, shutil, sys
from pathlib import Path
shutil.copytree("/mnt/folder/notebooks", "/home/pyodide/notebooks")
os.chdir("/home/pyodide/notebooks")
sys.path += ["/mnt/stand_in", "/mnt/tools"]
import run_cells
run_cells.start(Path("/mnt/folder/cells.json"), Path("/mnt/folder/results"), processor_seconds)
`);
