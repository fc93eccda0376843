// What the wall and the desk share: asking for news, telling the server what to do, keys and buttons.

export const at = (id) => document.getElementById(id);

export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text; // what strangers wrote stays text
  return made;
}

// Words of the lessons' own files, which boxes.py has escaped and marked up.
export function words(tag, className, html) {
  const made = document.createElement(tag);
  made.className = className;
  made.innerHTML = html;
  return made;
}

export async function ask(deed, what = null) {
  try {
    const answer = await fetch("do", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ do: deed, with: what }),
    });
    const { said } = await answer.json();
    return { said, done: answer.ok };
  } catch {
    return { said: AWAY, done: false };
  }
}

const AWAY =
  "The wall's program doesn't answer. Did this computer sleep, or has the program ended? The page goes on by itself.";
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Calls `draw` with what there is to show, now and after each change.
export async function listen(draw, more = "") {
  let version = -1;
  for (;;) {
    try {
      const answer = await fetch(`data?since=${version}${more}`);
      if (answer.status === 404) {
        say("This page belongs to a wall that has ended. Open the link that the new one prints.");
        return;
      }
      const shown = await answer.json();
      version = shown.version;
      say("");
      draw(shown);
    } catch {
      say(AWAY);
      await pause(1000);
    }
  }
}

function say(text) {
  if (at("said").dataset.own) return; // what a button said stays for a while
  if (at("said").textContent !== text) at("said").textContent = text;
}

let forget;
export function tell({ said }) {
  clearTimeout(forget);
  at("said").textContent = said;
  at("said").dataset.own = said;
  forget = setTimeout(() => {
    at("said").dataset.own = "";
    at("said").textContent = "";
  }, 15000);
}

// The buttons that both pages have, and their keys. A presenter's clicker sends PageUp and PageDown.
export function controls() {
  const deeds = {
    previous: () => ask("step", -1),
    next: () => ask("step", 1),
    "show-answer": () => ask("show", "answer"),
    "show-names": () => ask("show", "names"),
  };
  const keys = {
    ArrowLeft: "previous", PageUp: "previous", ArrowRight: "next", PageDown: "next", a: "show-answer", n: "show-names",
  };
  for (const [id, deed] of Object.entries(deeds)) at(id).addEventListener("click", deed);
  at("go").addEventListener("change", () => ask("go", at("go").value));
  document.addEventListener("keydown", (event) => {
    const name = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const isTyping = event.target.closest("input, select");
    if (!name || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    deeds[name]();
  });
}

export function drawControls(shown) {
  const { id } = shown.place;
  if (!at("go").length) at("go").append(...shown.ids.map((one) => new Option(one, one)));
  at("go").value = id;
  at("previous").disabled = id === shown.ids[0];
  at("next").disabled = id === shown.ids.at(-1);
  press("show-answer", shown.answerShown, "hide answer", "show answer");
  press("show-names", shown.namesShown, "hide names", "show names");
}

function press(id, isOn, on, off) {
  at(id).setAttribute("aria-pressed", isOn);
  at(id).querySelector("span").textContent = isOn ? on : off;
}

export const many = (count, one, several = `${one}s`) => `${count} ${count === 1 ? one : several}`;
