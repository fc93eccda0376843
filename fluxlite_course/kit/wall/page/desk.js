// The teacher's desk: who is there, who was turned away and why, and what only the teacher may do.

import { ask, at, controls, drawControls, element, listen, many, tell } from "./shared.js";

function draw(shown) {
  at("id").textContent = shown.place.id;
  at("words").innerHTML = shown.question.words; // from the lessons' own files, escaped there
  at("guests").textContent = shown.guests;
  at("nobody").hidden = shown.guests > 0;
  at("list").hidden = shown.guests === 0;
  at("door").textContent = shown.doorOpen ? "close the door: no new guests" : "open the door";
  const focused = document.activeElement?.dataset.key;
  at("list").tBodies[0].replaceChildren(...shown.list.map(row));
  if (focused) document.querySelector(`[data-key="${focused}"]`)?.focus();
  at("remarks").replaceChildren(...shown.remarks.map(remark));
  if (!shown.remarks.length) at("remarks").append(element("li", "", "nobody"));
  drawControls(shown);
}

function row(guest) {
  const made = document.createElement("tr");
  const who = element("th", "", guest.label);
  who.scope = "row";
  made.append(who, cell(guest.source), cell(guest.now), cell(guest.guesses), cell(guest.right));
  const moderate = document.createElement("td");
  const name = guest.shown ? "never show this name" : "allow this name";
  moderate.append(button(name, "name", guest), button("remove", "remove", guest));
  made.append(moderate);
  return made;
}

const cell = (value) => element("td", "", String(value));

function button(text, deed, guest) {
  const made = element("button", "", text);
  made.type = "button";
  made.dataset.key = `${deed}-${guest.number}`;
  made.setAttribute("aria-label", `${text}: ${guest.label}`);
  made.addEventListener("click", async () => tell(await ask(deed, guest.number)));
  return made;
}

function remark({ who, why, times }) {
  const made = element("li");
  made.append(element("b", "", who), `: ${why}`, times > 1 ? ` (${many(times, "time")})` : "");
  return made;
}

at("door").addEventListener("click", async () => tell(await ask("show", "door")));
at("keep").addEventListener("click", async () => tell(await ask("keep")));
at("letters").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { said, done } = await ask("letters", { text: at("text").value, name: at("name").value });
  at("read").textContent = done ? said : `Not read: ${said}`;
  if (done) event.target.reset();
  at("text").focus();
});

at("file").addEventListener("change", async () => {
  const [file] = at("file").files;
  if (!file) return;
  try {
    const answer = await fetch(`hand-in?name=${encodeURIComponent(file.name)}`, {
      method: "POST", headers: { "Content-Type": "application/zip" }, body: file,
    });
    at("unpacked").textContent = (await answer.json()).said;
  } catch {
    at("unpacked").textContent = `${file.name} can't be read: is it larger than 64 MB?`;
  }
  at("file").value = "";
});

controls();
listen(draw, "&desk=1");
