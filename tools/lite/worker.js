// The site's service worker. It keeps what lessons load, all of one build, so that a later visit is quick, works
// without a network, and never mixes two versions. JupyterLite's own worker, which gives Python the files, is in it.

{
    const BUILD = "@build@";
    const CACHE = `fluxlite ${BUILD}`;
    const FOLDER = new URL("./", location.href);
    const COMPILED = "@compiled@"; // where NumPy and Matplotlib come from, if not from here

    // A new build waits until no tab shows the old one; then all of it is used at once. JupyterLite's worker wouldn't wait.
    self.skipWaiting = () => Promise.resolve();

    self.addEventListener("activate", (event) => {
        event.waitUntil(remove_older());
    });

    async function remove_older() {
        const names = await caches.keys();
        await Promise.all(names.filter((name) => name.startsWith("fluxlite ") && name !== CACHE).map((name) => caches.delete(name)));
    }

    function is_kept(url) {
        if (COMPILED && url.href.startsWith(COMPILED)) return true;
        return url.href.startsWith(FOLDER.href) && !url.pathname.includes("/api/drive") && !url.pathname.includes("/api/stdin") &&
            !url.pathname.includes("/api/service-worker-heartbeat");
    }

    self.addEventListener("fetch", (event) => {
        const url = new URL(event.request.url);
        if (event.request.method !== "GET" || !is_kept(url)) return; // JupyterLite's listener comes next
        event.stopImmediatePropagation();
        event.respondWith(from_cache(event.request));
    });

    async function from_cache(request) {
        const cache = await caches.open(CACHE);
        const address = without_query(request.url);
        const kept = await cache.match(address);
        if (kept) return kept;
        const answer = await fetch(request);
        if (answer.ok && answer.type !== "opaque") {
            // A browser whose storage is full goes on without.
            cache.put(address, answer.clone()).catch(() => {});
        }
        return answer;
    }

    // JupyterLite's pages get their notebook's name as a query: they're one page.
    function without_query(address) {
        const url = new URL(address);
        url.search = "";
        url.hash = "";
        return url.href;
    }

    self.addEventListener("message", (event) => {
        if (event.data?.keep) event.waitUntil(keep(event.data.keep));
    });

    async function keep(addresses) {
        const cache = await caches.open(CACHE);
        for (const address of addresses) {
            if (await cache.match(address)) continue;
            await cache.add(address).catch(() => {}); // there's no network, or no room: another time
        }
    }
}

importScripts("jupyterlite-worker.js");
