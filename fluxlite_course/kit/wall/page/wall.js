// The projector's page: a question, its guesses as bars, and who has checked what.

import { at, controls, drawControls, element, listen, many, words } from "./shared.js";

let bars = new Map(); // by letter, so that a bar grows in place
let drawn = "";

function draw(shown) {
  const { question, place } = shown;
  if (drawn !== place.id) begin(place, question);
  at("join").textContent = shown.join;
  document.querySelector(".invitation").hidden = !shown.join; // files are read
  document.querySelector(".invitation").classList.toggle("closed", !shown.doorOpen);
  const most = Math.max(4, ...question.options.map((option) => option.count));
  for (const option of question.options) grow(bars.get(option.letter), option, most);
  at("answer").innerHTML = question.answer;
  at("guessed").textContent = `${shown.guessed} of ${many(shown.guests, "guest")} guessed`;
  at("checks").replaceChildren(...shown.checks.map((one) => check(one, shown.guests)), ...shown.puzzles.map(puzzle));
  drawControls(shown);
  fit();
}

// A long question with names and its answer has to fit as well.
function fit() {
  const main = document.querySelector("main");
  for (let size = 1; size > 0.4; size -= 0.05) {
    main.style.setProperty("--fit", size);
    if (main.scrollHeight <= main.clientHeight) return;
  }
}

function begin(place, question) {
  drawn = place.id;
  at("id").textContent = place.id;
  at("place").textContent = `lesson ${place.lesson}, question ${place.number} of ${place.of}`;
  at("words").innerHTML = question.words;
  bars = new Map(question.options.map((option) => [option.letter, row(option)]));
  at("options").replaceChildren(...bars.values());
}

function row({ letter, words: text }) {
  const made = element("li", "option");
  const bar = element("div", "bar");
  bar.append(element("i"));
  const middle = element("div", "middle");
  middle.append(words("p", "words", text), bar, element("p", "names"));
  made.append(element("b", "letter", letter), middle, element("b", "number"), element("span", "mark"));
  return made;
}

function grow(made, { count, names, right }, most) {
  made.querySelector(".bar i").style.width = `${(100 * count) / most}%`;
  made.querySelector(".number").textContent = count;
  made.querySelector(".names").textContent = names.join(", ");
  made.querySelector(".mark").textContent = right ? "✓" : "";
  made.querySelector(".mark").title = right ? "right" : "";
  made.classList.toggle("right", right === true);
  made.classList.toggle("not", right === false);
}

function check({ id, title, right, tried, names }, guests) {
  const made = element("li");
  made.append(element("b", "id", id), element("span", "title", title));
  const share = element("span", "share");
  for (const count of [right, tried - right]) {
    share.append(element("i"));
    share.lastChild.style.width = `${(100 * count) / Math.max(1, guests)}%`;
  }
  made.append(share, element("span", "figures", tried ? `${right} right, ${tried - right} tried` : "nobody yet"));
  made.append(element("span", "names", names.join(", ")));
  return made;
}

function puzzle({ id, par, best, names }) {
  const made = element("li");
  made.append(element("b", "id", id), element("span", "title", "puzzle"));
  made.append(element("span", "figures", best ? `best: ${best}, par: ${par}` : `nobody yet, par: ${par}`));
  made.append(element("span", "names", names.join(", ")));
  return made;
}

addEventListener("resize", fit);
controls();
listen(draw);
