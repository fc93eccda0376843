/* Unpacks a scene in a notebook, where all of it is stored small, and puts it in the still's place. */
document.querySelectorAll('.fluxlite-packed').forEach(async (root) => {
  root.classList.remove("fluxlite-packed");
  // The still shows how it ends, which nobody should see for a moment before it begins.
  root.firstElementChild.hidden = true;
  const packed = root.querySelector('script[type="text/plain"]').textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const { page, style, script, data } = JSON.parse(await new Response(stream).text());
  const put = (tag, text, type) => {
    const made = document.createElement(tag);
    if (type) made.type = type;
    made.textContent = text;
    root.append(made);
  };
  root.innerHTML = page;
  root.classList.add("fluxlite-scene");
  put("style", style);
  put("script", JSON.stringify(data), "application/json");
  put("script", script);
});
