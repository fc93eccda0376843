// A guess: a question and its options as buttons. A click locks them; then a button of its own asks for the answer,
// which the kernel sends only then.

function element(tag, className, html = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.innerHTML = html; // made by kit/boxes.py, which escapes the words
  return made;
}

function option(letter, words) {
  const button = element("button", "option", `<span>${letter}</span><span>${words}</span><span class="mark"></span>`);
  button.type = "button";
  return button;
}

function render({ model, el }) {
  const box = element("div", "fluxlite-box guess");
  const list = element("ul", "");
  const said = element("p", "small");
  const show = element("button", "show", "Show the answer");
  const replies = element("div", "reply");
  show.type = "button";
  said.setAttribute("role", "status");
  replies.setAttribute("aria-live", "polite");
  box.append(element("p", "ask", model.get("question")), list, said, show, replies);
  el.append(box);
  // Its keys are its own, not JupyterLab's or Notebook 7's: see keys.js, which Python puts above this file.
  el.classList.add("fluxlite-keys");
  el.dataset.lmSuppressShortcuts = "true";
  replies.tabIndex = -1;

  const buttons = Object.entries(model.get("options")).map(([letter, words]) => {
    const button = option(letter, words);
    button.addEventListener("click", () => {
      model.set("chosen", letter);
      model.save_changes();
      if (!model.get("votes")) (show.hidden ? replies : show).focus({ preventScroll: true });
    });
    const item = element("li", "");
    item.append(button);
    list.append(item);
    return [letter, button];
  });

  // A page that is opened again shows the box, but its kernel may have ended. We can't know: we wait for its answer.
  let patience;
  const ended = "Has it ended? Then run this cell again.";
  function wait(words) {
    clearTimeout(patience);
    patience = setTimeout(() => { said.textContent = `${words} ${ended}`; }, 500);
  }

  show.addEventListener("click", () => {
    model.set("asked", true);
    model.save_changes();
    wait("The answer comes when the kernel has finished its cell.");
  });

  function draw() {
    const chosen = model.get("chosen");
    const isKept = chosen === model.get("kept");
    const { right = "", words } = model.get("answer");
    const mayChange = model.get("votes") && !right;
    for (const [letter, button] of buttons) {
      const isRight = right.includes(letter);
      const isWrong = right !== "" && letter === chosen && !isRight;
      const marks = [isRight && (right === letter ? "✓ right" : "✓ it may be"), isWrong && "✗ not this one"];
      if (letter === chosen) marks.unshift("● your guess");
      button.disabled = Boolean(chosen) && !mayChange;
      button.classList.toggle("chosen", letter === chosen);
      button.classList.toggle("is-right", isRight);
      button.classList.toggle("is-wrong", isWrong);
      button.lastChild.textContent = marks.filter(Boolean).join(" · ");
    }
    const later = model.get("later");
    clearTimeout(patience);
    if (!chosen) said.textContent = "Click your guess. Wrong ones are the useful ones.";
    else if (isKept && !model.get("written")) said.textContent = `Your guess couldn't be written to your record. It lasts until the kernel ends. ${later}`;
    else if (isKept && mayChange) said.textContent = `Your guess is kept. You can change it. ${later}`;
    else if (isKept) said.textContent = `Your guess is kept. ${later}`;
    else {
      said.textContent = "";
      wait("Your guess isn't kept yet: the kernel hasn't answered.");
    }
    said.hidden = Boolean(right);
    const asked = document.activeElement === show; // a hidden button loses the focus, which goes to the answer
    show.hidden = !chosen || Boolean(right) || Boolean(later);
    replies.innerHTML = words || "";
    if (asked && show.hidden) replies.focus({ preventScroll: true });
  }

  model.on("change:chosen", draw);
  model.on("change:kept", draw);
  model.on("change:written", draw);
  model.on("change:votes", draw);
  model.on("change:answer", draw);
  draw();
  return () => {
    clearTimeout(patience);
    model.off("change:chosen", draw);
    model.off("change:kept", draw);
    model.off("change:written", draw);
    model.off("change:votes", draw);
    model.off("change:answer", draw);
  };
}

export default { render };
