/* Chooses one of the states that Python computed, by knobs, and puts its numbers into the picture.
   It asks no host for anything, and needs no ids: a page may have any number of pictures. */
(() => {
"use strict";
const svg = (tag) => tag.tagName.toLowerCase();
const make = (tag, attributes, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};

const put = (part, name, value) => {
  if (name === "text") part.textContent = value;
  else if (name === "only") {
    for (const child of part.children) {
      const n = +child.dataset.n;
      if (n < value[0] || n > value[1]) child.setAttribute("display", "none");
      else child.removeAttribute("display");
    }
  } else if (name === "ys") {
    const xs = JSON.parse(part.dataset.xs);
    let n = 0;
    for (const child of part.children) {
      if (svg(child) === "polyline") child.setAttribute("points", xs.map((x, i) => x + "," + value[i]).join(" "));
      else child.setAttribute("transform", `translate(${xs[n]} ${value[n++]})`);
    }
  } else if (value === null) part.removeAttribute(name);
  else part.setAttribute(name, value);
};

const start = (root) => {
  root.setAttribute("data-on", "");
  const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const says = root.querySelector(".fluxlite-says");
  const parts = root.querySelectorAll("[data-moves]");
  const chosen = [...data.first];
  const show = () => {
    const state = data.knobs.reduce((at, [, options], k) => at * options.length + chosen[k], 0);
    for (const [part, name, values, which] of data.moves) put(parts[part], name, values[which[state]]);
    says.textContent = data.says[state].map((phrase) => data.phrases[phrase]).join(" ");
  };

  const buttons = (name, options, k) => {
    const group = make("fieldset", {}, make("legend", {}, name));
    options.forEach((option, i) => {
      const input = make("input", { type: "radio", name: "knob" + k, value: i });
      input.checked = i === chosen[k];
      input.addEventListener("change", () => { chosen[k] = i; show(); });
      group.append(make("label", {}, input, make("span", {}, option)));
    });
    return group;
  };

  const slider = (name, options, k, ms, press) => {
    const input = make("input", { type: "range", min: 0, max: options.length - 1, step: 1 });
    const value = make("output", { "aria-hidden": "true" });
    const set = (at) => {
      chosen[k] = at;
      input.value = at;
      input.setAttribute("aria-valuetext", options[at]);
      value.textContent = options[at];
    };
    set(chosen[k]);
    const label = make("label", { class: "slide" }, make("span", {}, name), input, value);
    if (press) {
      root.style.setProperty("--step", ms + "ms");
      const button = make("button", { type: "button", class: "press" }, press);
      const go = (at) => {
        set(at);
        button.textContent = at === options.length - 1 ? "↺ back" : press;
        show();
      };
      button.addEventListener("click", () => go((chosen[k] + 1) % options.length));
      input.addEventListener("input", () => go(+input.value));
      return make("div", { class: "film" }, button, label);
    }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!ms || still) {
      input.addEventListener("input", () => { set(+input.value); show(); });
      return label;
    }
    root.style.setProperty("--step", ms + "ms");
    const play = make("button", { type: "button" }, "▶ play");
    let timer = 0;
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      play.textContent = "▶ play";
      says.setAttribute("aria-live", "polite");
    };
    const step = () => {
      if (chosen[k] === options.length - 1 || !root.isConnected) stop();
      else set(chosen[k] + 1);
      show();
    };
    play.addEventListener("click", () => {
      if (timer) return stop();
      // Read out while it runs, it would never come to an end.
      says.setAttribute("aria-live", "off");
      if (chosen[k] === options.length - 1) { set(0); show(); }
      play.textContent = "❚❚ pause";
      timer = setInterval(step, ms);
    });
    input.addEventListener("input", () => { stop(); set(+input.value); show(); });
    return make("div", { class: "film" }, play, label);
  };

  // A form of its own: the buttons of two pictures are then two groups, whatever their names.
  const named = { "aria-label": "knobs of the picture", "data-lm-suppress-shortcuts": "true", autocomplete: "off" };
  const form = make("form", named);
  form.addEventListener("submit", (event) => event.preventDefault());
  data.knobs.forEach(([name, options, slides, ms, press], k) => {
    if (options.length > 1) form.append(slides ? slider(name, options, k, ms, press) : buttons(name, options, k));
  });
  root.querySelector(".fluxlite-picture").before(form);
  for (const part of root.querySelectorAll("[data-pick]")) {
    const [k, option] = part.dataset.pick.split(":");
    part.addEventListener("click", () => form.querySelector(`[name="knob${k}"][value="${option}"]`).click());
  }
  show();
};

// Here comes keys.js.
KEYS
document.querySelectorAll(".fluxlite-scene:not([data-on])").forEach(start);
})();
