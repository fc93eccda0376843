/* One slide at a time: Page down and Page up, as a presenter's remote sends them, or the arrows where nothing else uses
   them. A slide that's longer than the screen scrolls first, and what's below a question is shown after it. */
(() => {
"use strict";
const all = [...document.querySelectorAll(".one-slide")];
const place = document.querySelector(".place");
let now = 0;

const show = (number) => {
  now = Math.max(0, Math.min(all.length - 1, number));
  all.forEach((slide, at) => {
    slide.classList.toggle("now", at === now);
    slide.inert = at !== now;
  });
  place.textContent = `${now + 1} of ${all.length}`;
  history.replaceState(null, "", `#${now + 1}`);
  all[now].focus({ preventScroll: true });
};

const turn = (way) => {
  const slide = all[now];
  const left = way > 0 ? slide.scrollHeight - slide.clientHeight - slide.scrollTop : slide.scrollTop;
  if (left > 4) {
    slide.scrollBy({ top: way * Math.min(left, 0.8 * slide.clientHeight) });
    return;
  }
  const later = way > 0 ? slide.querySelector(".later[hidden]") : null;
  if (later) {
    later.hidden = false;
    later.scrollIntoView({ block: "nearest" });
    return;
  }
  show(now + way);
  all[now].scrollTop = 0;
};

// Pictures have keys of their own.
const is_in_a_picture = (target) => target.closest(".fluxlite-scene, input, button, select, textarea, summary") !== null;

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const ways = { PageDown: 1, PageUp: -1 };
  if (!is_in_a_picture(event.target)) Object.assign(ways, { ArrowRight: 1, ArrowLeft: -1, " ": 1 });
  const way = ways[event.key];
  if (way) turn(way);
  else if (event.key === "Home" && !is_in_a_picture(event.target)) show(0);
  else if (event.key === "End" && !is_in_a_picture(event.target)) show(all.length - 1);
  else return;
  event.preventDefault();
});
for (const slide of all) slide.tabIndex = -1;
window.addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1 || 0));
show(Number(location.hash.slice(1)) - 1 || 0);
})();
