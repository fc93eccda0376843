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
  const number = (positions) => data.knobs.reduce((at, [, options], k) => at * options.length + positions[k], 0);
  const picture = root.querySelector(".fluxlite-picture");
  const write = (input, at, words) => {
    input.value = at;
    input.setAttribute("aria-valuetext", words);
    input.nextSibling.textContent = words;
  };
  const show = () => {
    const { along, shown } = data;
    let state = number(chosen);
    if (shown.length) {
      // A film that's shorter than others ends where nothing changes any more, and so does its slider.
      const first = state - chosen.pop();
      let at = first + data.knobs.at(-1)[1].length - 1;
      while (at > first && along[at] === along[at - 1] && shown[at] === shown[at - 1]) at--;
      state = Math.min(state, at);
      chosen.push(state - first);
      const input = [...root.querySelectorAll(".slide input")].at(-1);
      // Where there's an axis, the slider is as long as it, and stops with the line below.
      if (!along.length) input.max = at - first;
      write(input, state - first, shown[state]);
    }
    for (const [part, name, values, which] of data.moves) put(parts[part], name, values[which[state]]);
    says.textContent = data.says[state].map((phrase) => data.phrases[phrase]).join(" ");
    reach();
  };

  /* A box of the lanes tells its operation when it's pointed at or focused. Tab goes to one of them, arrows to others. */
  const tip = make("div", { class: "tip", "aria-hidden": "true" });
  const place = (box) => box.getBoundingClientRect();
  const tell = (box) => {
    tip.textContent = box ? box.getAttribute("aria-label") : "";
    tip.hidden = !box;
    if (!box) return;
    const at = place(box), around = place(root);
    const left = at.left - around.left + Math.min(at.width / 2, 40) - tip.offsetWidth / 2;
    tip.style.left = Math.max(0, Math.min(left, around.width - tip.offsetWidth)) + "px";
    tip.style.top = at.top - around.top - tip.offsetHeight - 6 + "px";
  };
  // What's clipped has happened later. It has a place, but can't be seen.
  const lane = (box) => box.closest("[data-lane]").dataset.lane;
  const boxes = picture.querySelectorAll(".op [aria-label]");
  for (const box of boxes) box.setAttribute("role", "img");
  const seen = () => [...boxes].filter((box) => {
    const { left, width } = place(box);
    return width && left < place(box.ownerSVGElement).right - 1;
  }).sort((a, b) => place(a).left - place(b).left);
  const stop = (at) => {
    for (const box of boxes) if (box !== at) box.removeAttribute("tabindex");
    at?.setAttribute("tabindex", 0);
  };
  const reach = () => {
    stop(boxes.length ? seen()[0] : null);
    tell();
  };
  const enter = (box) => {
    if (!box) return;
    stop(box);
    box.focus();
  };
  const gap = (a, b) => Math.abs(place(a).left + place(a).width / 2 - place(b).left - place(b).width / 2);
  root.fluxliteKey = (from, key) => {
    if (from.matches('[role="button"]')) {
      if (key !== "Enter" && key !== " ") return false;
      from.dispatchEvent(new MouseEvent("click"));
      return true;
    }
    if (![...boxes].includes(from)) return false;
    const all = seen(), step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key];
    const mine = all.filter((box) => lane(box) === lane(from));
    if (key === "Home" || key === "End") enter(mine.at(key === "Home" ? 0 : -1));
    else if (key === "Escape") tell();
    else if (key === "ArrowLeft" || key === "ArrowRight") enter(mine[mine.indexOf(from) + step]);
    else if (step) {
      const order = [...boxes].filter((box) => all.includes(box)).map(lane);
      const lanes = [...new Set(order)], next = lanes[lanes.indexOf(lane(from)) + step];
      enter(all.filter((box) => lane(box) === next).sort((a, b) => gap(a, from) - gap(b, from))[0]);
    } else return false;
    return true;
  };
  for (const event of ["pointermove", "pointerdown", "focusin"]) {
    picture.addEventListener(event, ({ target }) => tell(target.closest?.(".op [aria-label]")));
  }
  for (const event of ["pointerleave", "focusout"]) picture.addEventListener(event, () => tell());

  /* Dragging on the picture moves the last knob to the state that's nearest; places with x and y, the last two. */
  const drag = (sliders) => {
    const field = root.querySelector("[data-drag]"), first = data.knobs.length - sliders.length;
    const move = (event) => {
      const way = picture.firstElementChild.getScreenCTM().inverse();
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(way);
      const far = (at) => {
        const [left, top = y] = [data.along[number(at)]].flat();
        return Math.hypot(left - x, top - y);
      };
      let near = [chosen];
      sliders.forEach((_, k) => {
        near = near.flatMap((at) => data.knobs[first + k][1].map((_, i) => at.with(first + k, i)));
      });
      near = near.reduce((best, at) => far(at) < far(best) ? at : best);
      sliders.forEach((input, k) => {
        const at = near[first + k];
        if (at === chosen[first + k]) return;
        input.value = at;
        input.dispatchEvent(new Event("input"));
      });
    };
    field.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      field.setPointerCapture(event.pointerId);
      move(event);
    });
    field.addEventListener("pointermove", (event) => {
      if (field.hasPointerCapture(event.pointerId)) move(event);
    });
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
    const input = make("input", { type: "range", name: "knob" + k, min: 0, max: options.length - 1, step: 1 });
    const set = (at) => {
      chosen[k] = at;
      write(input, at, options[at]);
    };
    const label = make("label", { class: "slide" }, make("span", {}, name), input, make("output", { "aria-hidden": "true" }));
    set(chosen[k]);
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
    // One step further: is there one?
    const go = () => {
      const before = chosen[k];
      set(Math.min(before + 1, +input.max));
      show();
      return chosen[k] > before;
    };
    play.addEventListener("click", () => {
      if (timer) return stop();
      // Read out while it runs, it would never come to an end.
      says.setAttribute("aria-live", "off");
      const at = chosen[k];
      set(go() ? at : 0);
      show();
      play.textContent = "❚❚ pause";
      timer = setInterval(() => { if (!root.isConnected || !go()) stop(); }, ms);
    });
    input.addEventListener("input", () => { stop(); set(+input.value); show(); });
    return make("div", { class: "film" }, play, label);
  };

  // A form of its own: the buttons of two pictures are then two groups, whatever their names.
  const named = { "aria-label": "knobs of the picture", "data-lm-suppress-shortcuts": "true", autocomplete: "off" };
  const form = make("form", named);
  form.addEventListener("submit", (event) => event.preventDefault());
  data.knobs.forEach(([name, options, slides, ms, press, picked], k) => {
    if (options.length > 1 && !picked) form.append(slides ? slider(name, options, k, ms, press) : buttons(name, options, k));
  });
  picture.before(form);
  root.append(tip);
  const slides = [...form.querySelectorAll("input[type=range]")].slice(data.along[0]?.length ? -2 : -1);
  if (data.along.length && data.knobs.slice(-slides.length).every(([, all, slider]) => slider && all[1])) drag(slides);
  for (const part of root.querySelectorAll("[data-pick]")) {
    const [k, option] = part.dataset.pick.split(":");
    const button = form.querySelector(`[name="knob${k}"][value="${option}"]`);
    const range = form.querySelector(`[type="range"][name="knob${k}"]`);
    part.addEventListener("click", () => {
      if (button) return button.click();
      if (range) {
        range.value = option;
        return range.dispatchEvent(new Event("input"));
      }
      chosen[k] = +option;
      show();
    });
    if (button || range) continue;
    for (const [name, value] of [["role", "button"], ["tabindex", 0], ["aria-label", data.knobs[k][1][option]]]) {
      part.setAttribute(name, value);
    }
  }
  show();
};

// Here comes keys.js.
KEYS
document.querySelectorAll(".fluxlite-scene:not([data-on])").forEach(start);
})();
