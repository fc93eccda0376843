// What the lessons' site adds to JupyterLite: a bar while Python starts, work that's kept, saved and restored, and
// lessons that are newer than your copy. It runs in each of JupyterLite's pages.

const here = document.currentScript;
const root = new URL(here.dataset.root + "/", location.href);
const BUILD = here.dataset.build; // of this site: lessons and library have one
const STORE = "fluxlite work"; // in localStorage: which lessons your copies were made from
const MB = 1e6;

// -- a line at the bottom of the page ---------------------------------------------------------------------------------

function element(kind, attributes = {}, text = "") {
    const made = document.createElement(kind);
    Object.assign(made, attributes);
    made.textContent = text;
    return made;
}

const line = element("div", { id: "fluxlite-line", role: "status" });
const words = element("span");
const bar = element("progress", { max: 1, value: 0 });
const close = element("button", { title: "Close this line", type: "button" }, "×");
let is_message = false; // it stays until it's closed; how far Python is would hide it
close.addEventListener("click", remove_line);
line.append(words, bar, close);

function remove_line() {
    is_message = false;
    line.remove();
}

function say(text) {
    is_message = true;
    show(text, null);
}

function say_how_far(text, share) {
    if (!is_message) show(text, share);
}

function show(text, share) {
    words.textContent = text;
    bar.hidden = share === null;
    bar.value = share ?? 0;
    line.querySelector("a, .act")?.remove();
    if (!line.isConnected) document.body.append(line);
}

function say_with_link(text, label, attributes) {
    say(text);
    words.after(element("a", attributes, label));
}

function say_with_button(text, label, act) {
    say(text);
    const button = element("button", { className: "act", type: "button" }, label);
    button.addEventListener("click", async () => say(await act()));
    words.after(button);
}

// -- while Python starts ----------------------------------------------------------------------------------------------

// Python's worker loads these files too. A browser loads a file once, and gives it to both.
async function watch_loading() {
    const files = await (await fetch(new URL("static/fluxlite/files.json", root))).json();
    const all = files.reduce((sum, file) => sum + file.bytes, 0);
    let loaded = 0;
    let is_running = false;
    const running = wait_for_python().then(() => {
        is_running = true;
        if (!is_message) remove_line();
    });
    for (const file of files) {
        if (is_running) break;
        const answer = await fetch(new URL(file.url, root));
        if (!answer.ok) throw new Error(`${file.url}: ${answer.status}`);
        for await (const part of parts_of(answer.body)) {
            loaded += part.length;
            const done = `${(loaded / MB).toFixed(0)} of ${(all / MB).toFixed(0)} MB`;
            if (!is_running) say_how_far(`Python is on its way: ${done} (${file.name})`, loaded / all);
        }
    }
    if (!is_running) say_how_far("Python is here. It starts now, and takes a few seconds.", 1);
    await running;
}

// What a stream brings, one part after the other. Not all browsers can loop over a stream itself.
async function* parts_of(stream) {
    const reader = stream.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

function app() {
    return new Promise((resolve) => {
        const timer = setInterval(() => {
            if (!window.jupyterapp) return;
            clearInterval(timer);
            resolve(window.jupyterapp);
        }, 100);
    });
}

async function wait_for_python() {
    const { shell } = await app();
    await new Promise((resolve) => {
        const timer = setInterval(() => {
            const kernel = shell.currentWidget?.sessionContext?.session?.kernel;
            if (kernel?.status !== "idle" && kernel?.status !== "busy") return;
            clearInterval(timer);
            resolve();
        }, 200);
    });
}

// Who runs a cell in the very first second is asked which Python to take. There's only one.
function choose_the_only_python() {
    const observer = new MutationObserver(() => {
        for (const dialog of document.querySelectorAll(".jp-Dialog")) {
            if (dialog.textContent.includes("Select Kernel")) dialog.querySelector(".jp-mod-accept")?.click();
        }
    });
    observer.observe(document.body, { childList: true });
    return wait_for_python().finally(() => observer.disconnect());
}

// -- the service worker -------------------------------------------------------------------------------------------------

async function talk_to_worker() {
    const { serviceWorker } = navigator;
    if (!serviceWorker) return;
    serviceWorker.addEventListener("message", ({ data }) => {
        if (data === "kept") document.documentElement.dataset.kept = BUILD;
        if (data === "newer") say("This site has a newer edition by now. Close all its tabs, and open it again.");
    });
    const { active } = await serviceWorker.ready;
    active.postMessage("here");
    await wait_for_python();
    active.postMessage("keep"); // all that lessons load, so that they run without a network next time
}

// Python asks for its files, and this tab answers. Where it fails, Python gets an error, and the learner a word.
async function answer(request, find) {
    try {
        // One at a time in all tabs: JupyterLite makes a new file in several steps.
        return await navigator.locks.request("fluxlite files", find);
    } catch (error) {
        if (request.method === "get") return null; // there's no such file
        say_if_full(error);
        return { failed: String(error) };
    }
}

// -- the browser's storage --------------------------------------------------------------------------------------------

let is_full = false; // it's said once, until there's room again

function say_if_full(error) {
    const says_so = /quota|full|no space/i.test(`${error?.name} ${error?.message}`);
    if (says_so) say_full();
    return says_so;
}

function say_full() {
    if (is_full) return;
    is_full = true;
    const text = "This browser has no room left for your work: what you do now isn't kept.";
    say_with_button(text, "Save all of it to a file", save_work);
}

// JupyterLab would open a dialog at each of its saves. Its own word for "no dialog" is the error's name. The lesson
// stays unsaved, and the next save that has room takes all of it.
async function watch_saves() {
    const { contents } = (await app()).serviceManager;
    const save = contents.save.bind(contents);
    contents.save = async (path, model) => {
        try {
            const saved = await save(path, model);
            say_if_there_is_room(model);
            return saved;
        } catch (error) {
            if (!say_if_full(error)) throw error;
            throw Object.assign(new Error(error.message), { name: "ModalCancelError" });
        }
    };
}

// JupyterLab saves less often after a save that took long, and counts the time that a dialog was open. A tab is soon
// closed, so we save by a clock of our own, and when the tab goes out of sight.
async function save_often() {
    const { shell } = await app();
    function save() {
        const { context } = shell.currentWidget ?? {};
        if (!context?.model?.dirty || document.querySelector(".jp-Dialog")) return;
        save_in_turn(context).catch(complain); // a full storage is said by watch_saves
    }
    setInterval(save, 10_000);
    document.addEventListener("visibilitychange", save);
}

// A save that begins before the last one has ended finds a file that it doesn't know, and JupyterLab asks whether to
// overwrite it. So each save of a lesson waits for the one before it: ours, JupyterLab's own, and the learner's.
// And what's typed while a save is on its way isn't in it, though JupyterLab then takes the lesson for saved.
function save_in_turn(context) {
    if (!in_turn.has(context)) {
        const save = context.save.bind(context);
        const { model } = context;
        let changed = false;
        let last = Promise.resolve();
        async function save_once() {
            changed = false;
            await save();
            if (changed) model.dirty = true;
        }
        model.contentChanged.connect(() => { changed = true; });
        context.save = () => {
            last = last.catch(() => {}).then(save_once);
            return last;
        };
        in_turn.add(context);
    }
    return context.save();
}

const in_turn = new WeakSet();

function say_if_there_is_room(model) {
    if (!is_full || model?.type !== "notebook") return;
    is_full = false;
    say("There's room again in this browser: your lesson is kept now.");
}

// Some browsers give a page nothing to keep if it's inside a page of another site, or in a private window.
function can_keep() {
    try {
        return Boolean(localStorage && indexedDB && navigator.serviceWorker);
    } catch {
        return false;
    }
}

function say_that_nothing_is_kept() {
    const text = "A lesson has to keep files, and here the browser doesn't let it.";
    if (window.top === window) say(`${text} In a private window? Open it in an ordinary one.`);
    else say_with_link(text, "Open it in a tab of its own", { href: location.href, target: "_blank", rel: "noopener" });
}

async function look_at_storage() {
    if (!navigator.storage?.estimate) return;
    const { quota, usage } = await navigator.storage.estimate();
    if (quota - usage < 5 * MB) {
        say("This browser has little room left for your work. Save it to a file now and then, on the start page.");
        return;
    }
    const is_kept = (await navigator.storage.persisted()) || (await navigator.storage.persist());
    const is_safari = /^((?!chrome|android).)*safari/i.test(navigator.userAgent);
    if (!is_kept && is_safari && !sessionStorage.getItem(STORE)) {
        sessionStorage.setItem(STORE, "said");
        await wait_for_python();
        say("Safari deletes what a page keeps after seven days without a visit. Save your work to a file, on the start page.");
    }
}

// -- lessons that are newer than your copy ----------------------------------------------------------------------------

function known_versions() {
    try {
        return JSON.parse(localStorage.getItem(STORE)) ?? {};
    } catch {
        return {};
    }
}

// Your copy of a lesson lies in the browser, and hides the site's. If the site's is another one by now, it comes beside.
async function offer_newer_lessons() {
    await navigator.locks.request("fluxlite newer", copy_newer_lessons); // not in two tabs at once
}

async function copy_newer_lessons() {
    const { serviceManager } = await app();
    const { contents } = serviceManager;
    const now = await (await fetch(new URL("static/fluxlite/lessons.json", root))).json();
    const before = known_versions();
    const versions = { ...before };
    const newer = [];
    for (const [name, version] of Object.entries(now)) {
        versions[name] = version;
        if (!(name in before) || before[name] === version) continue;
        const mine = await contents.get(name, { content: true });
        const fresh = await (await fetch(new URL(`files/${name}`, root))).json();
        if (same_lesson(mine.content, fresh)) continue;
        const beside = await free_name(contents, name.replace(".ipynb", ", newer.ipynb"));
        await contents.save(beside, { type: "notebook", format: "json", content: fresh });
        newer.push(beside);
    }
    localStorage.setItem(STORE, JSON.stringify(versions));
    if (newer.length) say(`There's a newer edition of a lesson. Your copy stays; this one lies beside it: ${newer.join("; ")}`);
}

function same_lesson(one, other) {
    const sources = (notebook) => notebook.cells.map((cell) => [cell.source].flat().join(""));
    return JSON.stringify(sources(one)) === JSON.stringify(sources(other));
}

async function free_name(contents, name) {
    const { content } = await contents.get("", { content: true });
    const taken = new Set(content.map((file) => file.name));
    const [, stem, end] = name.match(/^(.*?)(\.[^.]*)?$/);
    let free = name;
    for (let i = 2; taken.has(free); i++) free = `${stem} ${i}${end ?? ""}`;
    return free;
}

// -- a widget whose Python has ended, or isn't there yet --------------------------------------------------------------

// What its cell showed is stored as a page without buttons, beside the widget. JupyterLab knows which are trusted.
function show_stored(node, { data, trusted }) {
    const stored = element("div");
    if (trusted) stored.innerHTML = [data["text/html"] ?? ""].flat().join("");
    node.replaceChildren(stored, element("p", { className: "fluxlite-again" }, "To play, run this cell again."));
}

// -- what you hand in -------------------------------------------------------------------------------------------------

// `%run -m fluxlite handin` makes a file in the browser's storage. To hand it in, you need it outside.
async function offer_hand_ins() {
    const { serviceManager } = await app();
    serviceManager.contents.fileChanged.connect(async (contents, { newValue }) => {
        const path = newValue?.path ?? "";
        if (!/(^|\/)handin-[^/]*\.zip$/.test(path)) return;
        const { content } = await contents.get(path, { content: true });
        const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
        const file = path.split("/").pop();
        const href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
        say_with_link("Your hand-in is made.", `Save ${file} on this computer`, { href, download: file });
    });
}

// -- from lesson to lesson ---------------------------------------------------------------------------------------------

// JupyterLite would open a second tab, by way of its list of files, and leave this one's Python running.
async function follow_links() {
    const { commands } = await app();
    document.addEventListener("click", (event) => {
        const link = event.target.closest?.("a[data-commandlinker-args]");
        const is_plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
        const { path, id = "" } = JSON.parse(link?.dataset.commandlinkerArgs ?? "{}");
        if (!path?.endsWith(".ipynb") || !is_plain) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        const address = new URL(`notebooks/index.html?path=${encodeURIComponent(path)}${id}`, root);
        commands.execute("docmanager:save").finally(() => location.assign(address));
    }, true);
}

// The logo leads to the page with all lessons, not to JupyterLite's list of files.
document.addEventListener("click", (event) => {
    if (!event.target.closest?.("#jp-NotebookLogo, #jp-MainLogo")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    location.assign(root);
}, true);

// In two tabs at once, each would write over what the other has written.
async function say_if_open_elsewhere() {
    const path = new URLSearchParams(location.search).get("path");
    if (!path) return;
    await navigator.locks.request(`fluxlite open ${path}`, { ifAvailable: true }, (lock) => {
        if (lock) return new Promise(() => {}); // held until this tab is closed
        say("This lesson is open in another tab, too. Write in one of them only: the last one that saves wins.");
    });
}

// -- all your work, in one file ---------------------------------------------------------------------------------------

async function all_work(contents, folder = "") {
    const found = {};
    const { content } = await contents.get(folder, { content: true });
    for (const file of content) {
        if (file.type === "directory") Object.assign(found, await all_work(contents, file.path));
        else {
            const { type, format, content } = await contents.get(file.path, { content: true });
            found[file.path] = { type, format, content };
        }
    }
    return found;
}

// A lesson that's open: as it's on the screen, with the record as its Python has it. The browser may have no room for
// either.
async function open_work({ context, sessionContext } = {}) {
    const found = {};
    if (context?.contentsModel?.type !== "notebook") return found;
    found[context.path] = { type: "notebook", format: "json", content: context.model.toJSON() };
    const record = await printed(sessionContext.session?.kernel, RECORD);
    if (record) found["progress.json"] = { type: "file", format: "text", content: record };
    return found;
}

const RECORD = "import fluxlite_course.kit.progress\nprint(fluxlite_course.kit.progress.as_text())";

// What Python prints; nothing if it's busy.
async function printed(kernel, code) {
    if (kernel?.status !== "idle") return "";
    let text = "";
    const asked = kernel.requestExecute({ code, silent: true, store_history: false });
    asked.onIOPub = ({ header, content }) => {
        if (header.msg_type === "stream" && content.name === "stdout") text += content.text;
    };
    await asked.done;
    return text;
}

async function save_work() {
    const { serviceManager, shell } = await app();
    const files = { ...(await all_work(serviceManager.contents)), ...(await open_work(shell.currentWidget ?? {})) };
    const work = { kind: "fluxlite work", build: BUILD, files };
    const day = new Date().toISOString().slice(0, 10);
    const address = URL.createObjectURL(new Blob([JSON.stringify(work)], { type: "application/json" }));
    element("a", { href: address, download: `fluxlite-work-${day}.json` }).click();
    URL.revokeObjectURL(address);
    return `fluxlite-work-${day}.json is in your downloads, with ${Object.keys(work.files).length} files.`;
}

function checked_work(text) {
    const work = JSON.parse(text);
    if (work?.kind !== "fluxlite work" || typeof work.files !== "object") throw new Error("it isn't one that we saved");
    for (const [path, file] of Object.entries(work.files)) {
        const is_inside = path && !path.startsWith("/") && !path.split("/").includes("..");
        const is_known = ["notebook", "file"].includes(file?.type) && ["json", "text", "base64"].includes(file?.format);
        if (!is_inside || !is_known) throw new Error(`${path} isn't a file of a lesson`);
    }
    return work.files;
}

// What's there stays: a file that differs from yours comes beside it.
async function restore_work(file) {
    const { serviceManager } = await app();
    const { contents } = serviceManager;
    let files;
    try {
        files = checked_work(await file.text());
    } catch (error) {
        return `${file.name} can't be read: ${error.message}. Nothing was changed.`;
    }
    const mine = await all_work(contents);
    const beside = [];
    let count = 0;
    for (const [path, model] of Object.entries(files)) {
        const own = mine[path];
        if (own && JSON.stringify(own.content) === JSON.stringify(model.content)) continue;
        let to = path;
        if (own && !(await is_the_sites(path, own))) {
            to = await free_name(contents, path.replace(/(\.[^./]*)?$/, ", restored$1"));
            beside.push(to);
        }
        await make_folders(contents, to);
        await contents.save(to, model);
        count += 1;
    }
    const where = beside.length ? ` Beside files of yours that differ: ${beside.join("; ")}.` : "";
    return `${count} of ${Object.keys(files).length} files came back, the others are the same.${where}`;
}

async function is_the_sites(path, own) {
    const answer = await fetch(new URL(`files/${path}`, root));
    if (!answer.ok) return false;
    return own.type === "notebook" && JSON.stringify(await answer.json()) === JSON.stringify(own.content);
}

async function make_folders(contents, path) {
    const parts = path.split("/").slice(0, -1);
    for (let i = 1; i <= parts.length; i++) {
        const folder = parts.slice(0, i).join("/");
        await contents.save(folder, { type: "directory" });
    }
}

window.fluxlite = { answer, say_if_full, show_stored, save_work, restore_work };

// ---------------------------------------------------------------------------------------------------------------------

function complain(error) {
    console.error("fluxlite:", error);
}

document.addEventListener("DOMContentLoaded", () => {
    if (document.body.dataset.page === "start") return;
    if (!can_keep()) {
        say_that_nothing_is_kept();
        return;
    }
    watch_loading().catch(complain);
    choose_the_only_python().catch(complain);
    talk_to_worker().catch(complain);
    look_at_storage().catch(complain);
    offer_newer_lessons().catch(complain);
    offer_hand_ins().catch(complain);
    watch_saves().catch(complain);
    save_often().catch(complain);
    follow_links().catch(complain);
    say_if_open_elsewhere().catch(complain);
});
