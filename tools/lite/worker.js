// The site's service worker. It keeps what lessons load, all of one build, so that a later visit is quick, works
// without a network, and never mixes two editions. It takes Python's requests for files to the tab that has them.
// JupyterLite's own worker is in it, for the rest.

{
    const BUILD = "@build@";
    const HASHES = "@hashes@"; // of the site's files, each by its path
    const COMPILED = "@compiled@"; // addresses of what comes from elsewhere: NumPy and Matplotlib
    const FOLDER = new URL("./", location.href);
    const OURS = `fluxlite ${FOLDER.pathname} `; // how the names of our caches begin
    const CACHE = OURS + BUILD;
    const LANES = 6; // files that are loaded at the same time

    // A new build waits until no tab shows the old one; then all of it is used at once. JupyterLite's worker wouldn't
    // wait.
    self.skipWaiting = () => Promise.resolve();

    // There's no old one on the first visit, when keeping all would only delay Python.
    self.addEventListener("install", (event) => {
        if (self.registration.active) event.waitUntil(keep_all());
    });

    self.addEventListener("activate", (event) => {
        event.waitUntil(remove_older());
    });

    self.addEventListener("message", (event) => {
        if (event.data === "here") event.waitUntil(self.clients.claim()); // a tab that was reloaded past its cache
        if (event.data === "keep") event.waitUntil(keep_all().then(() => event.source.postMessage("kept")));
    });

    self.addEventListener("fetch", (event) => {
        const answer = answer_to(event.request);
        if (!answer) return; // JupyterLite's listener comes next
        event.stopImmediatePropagation();
        event.respondWith(answer);
    });

    function answer_to(request) {
        const path = path_of(request.url);
        if (request.method === "POST" && path === "api/drive") return ask_tab(request);
        if (request.method === "POST" && path === "api/lock") return lock(request);
        if (request.method === "GET" && (path in HASHES || COMPILED.includes(path))) return kept_or_loaded(path);
        return null;
    }

    // A page's address says by a query which notebook it shows: it's one page.
    function path_of(address) {
        const url = new URL(address);
        url.search = "";
        url.hash = "";
        if (!url.href.startsWith(FOLDER.href)) return url.href;
        const path = url.href.slice(FOLDER.href.length);
        if (path === "" || path.endsWith("/")) return `${path}index.html`;
        return decodeURI(path);
    }

    // -- the files of one build -----------------------------------------------------------------------------------

    const loading = new Map(); // by path: two who want the same file at the same time get one

    async function kept_or_loaded(path) {
        const cache = await caches.open(CACHE);
        const kept = await cache.match(address_of(path));
        if (kept) return kept;
        if (!loading.has(path)) loading.set(path, load(path).finally(() => loading.delete(path)));
        const answer = await loading.get(path);
        if (!answer) return refuse();
        cache.put(address_of(path), answer.clone()).catch(() => {}); // a browser without room goes on without
        return answer.clone();
    }

    function address_of(path) {
        return new URL(path, FOLDER).href;
    }

    // A file from the network, if it's this build's; null if it isn't, since the site has a newer one by now.
    async function load(path) {
        const answer = await fetch(address_of(path), { cache: "no-cache" });
        if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
        const headers = { "content-type": answer.headers.get("content-type") ?? "application/octet-stream" };
        const bytes = await answer.arrayBuffer();
        if (!(await is_of_this_build(path, bytes))) return null;
        return new Response(bytes, { headers });
    }

    // A page says which build it's of: so it may have been changed on its way, as some schools' networks do.
    async function is_of_this_build(path, bytes) {
        if (COMPILED.includes(path)) return true; // Pyodide compares its hash
        if (path.endsWith(".html") && new TextDecoder().decode(bytes).includes(BUILD)) return true;
        const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
        const digits = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
        return digits.startsWith(HASHES[path]);
    }

    async function refuse() {
        for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage("newer");
        return new Response("There's a newer edition here. Close all tabs with lessons, and open them again.", { status: 503 });
    }

    // All or an error; what's there stays there for another time.
    async function keep_all() {
        const cache = await caches.open(CACHE);
        const waiting = [...Object.keys(HASHES), ...COMPILED];
        const lane = async () => {
            for (let path = waiting.pop(); path; path = waiting.pop()) await keep(cache, path);
        };
        await Promise.all(Array.from({ length: LANES }, lane));
    }

    async function keep(cache, path) {
        const address = address_of(path);
        if (await cache.match(address)) return;
        const answer = (await from_older(path)) ?? (await load(path));
        if (!answer) throw new Error(`${path} is of another build`);
        await cache.put(address, answer);
    }

    // Most files of a new build are those of the old one.
    async function from_older(path) {
        for (const name of await caches.keys()) {
            if (!name.startsWith(OURS)) continue;
            const answer = await (await caches.open(name)).match(address_of(path));
            if (answer && (await is_of_this_build(path, await answer.clone().arrayBuffer()))) return answer;
        }
        return null;
    }

    async function remove_older() {
        const names = await caches.keys();
        const older = names.filter((name) => name.startsWith(OURS) && name !== CACHE);
        await Promise.all(older.map((name) => caches.delete(name)));
    }

    // -- Python's files -------------------------------------------------------------------------------------------

    const tabs = new BroadcastChannel("/sw-api.v1"); // JupyterLite's name

    // The tab in which this Python runs has the files, and gives the answer.
    async function ask_tab(request) {
        const asked = await request.json();
        asked.data.id = crypto.randomUUID();
        const answered = new Promise((resolve) => {
            const listen = ({ data }) => {
                if (data.id !== asked.data.id) return;
                tabs.removeEventListener("message", listen);
                resolve(data.response);
            };
            tabs.addEventListener("message", listen);
        });
        tabs.postMessage({ ...asked, pathname: "/api/drive" });
        const response = (await answered) ?? null;
        const status = response?.failed ? 507 : 200;
        return new Response(JSON.stringify(response), { status });
    }

    // Two tabs change one record one after the other. A tab that was closed keeps the lock for as long as this.
    const LEASE = 10_000; // milliseconds
    let holder = { ticket: "", until: 0 };

    async function lock(request) {
        const word = await request.text(); // "take", or the ticket that's given back
        if (word !== "take") {
            if (word === holder.ticket) holder = { ticket: "", until: 0 };
            return new Response("");
        }
        if (Date.now() < holder.until) return new Response("", { status: 423 });
        holder = { ticket: crypto.randomUUID(), until: Date.now() + LEASE };
        return new Response(holder.ticket);
    }
}

importScripts("jupyterlite-worker.js");
