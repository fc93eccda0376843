// Compile the Python in archives by Pyodide's own compiler: node compile.mjs CORE ARCHIVE...
// With --sources before an archive, its sources stay beside what's compiled.

import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [core, ...archives] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(core, "pyodide.mjs")).href);
const python = await loadPyodide({ indexURL: resolve(core) });
const here = dirname(fileURLToPath(import.meta.url));
python.runPython(readFileSync(resolve(here, "compiled.py"), "utf-8"));
const put_bytecode = python.globals.get("put_bytecode");

let keep_sources = false;
for (const archive of archives) {
    if (archive === "--sources") {
        keep_sources = true;
        continue;
    }
    python.FS.mkdirTree("/archives");
    python.FS.mount(python.FS.filesystems.NODEFS, { root: dirname(resolve(archive)) }, "/archives");
    put_bytecode(`/archives/${basename(archive)}`, keep_sources);
    python.FS.unmount("/archives");
    keep_sources = false;
}
