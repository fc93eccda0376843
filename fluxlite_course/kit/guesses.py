"""Guesses: asked before a cell runs, kept, and answered afterwards, in one box.

``questions.toml`` in the lesson's folder has the questions, their options, the right one, and our reply to each.
"""

import functools
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from fluxlite.messages import at_words, ipython

from ..scenes.scene import text_of
from . import exercises, progress
from .boxes import box, marked, plain, publish, style

VIEW = "application/vnd.jupyter.widget-view+json"


class Question(NamedTuple):
    """A question with lettered options: which one is right, and a reply to each.

    If nobody can tell which of two it is, `right` has both letters, and the `verdict` says what's known.
    """

    right: str
    words: str  # with Markdown's code and emphasis, as in options and replies
    options: dict[str, str]
    replies: dict[str, str]
    later: str = ""  # where the answer comes, if it isn't in this lesson
    verdict: str = ""

    def conclusion(self, around: str = "") -> str:
        """Which letter it is, with these characters `around` it, and why."""
        letters = " or ".join(f"{around}{letter}{around}" for letter in self.right)
        return f"it is {letters}: {self.verdict or self.replies[self.right]}"


def questions(number: str) -> dict[str, Question]:
    """A lesson's questions by id, in the order of its ``questions.toml``. Raises `ValueError` for an unknown lesson.

    >>> questions("02")["02-C"].options["c"]
    'on the GPU, as soon as a computation there needs them'
    """
    tables = tomllib.loads((exercises.folder(number) / "questions.toml").read_text(encoding="utf-8"))
    return {id: _in_file(**table) for id, table in tables.items()}


def _in_file(
    right: str, question: str, reply: dict[str, str], later: str = "", verdict: str = "", **options: str
) -> Question:
    """A question from its table, where each option's letter is a key of its own."""
    return Question(right, question, options, reply, later, verdict)


def question(id: str) -> Question:
    """The question with this id, ``"02-C"``. Raises `ValueError` if there's none."""
    return exercises.find(id, "question", questions(exercises.number_in(id)))


def guess(id: str, option: Any = "") -> None:
    """Show a question with its options as buttons. What you click is kept and locked; then you can ask for the answer.

    Where a class votes on a wall (`join`), you may change it until you ask for the answer.

    Where there are no buttons, write the letter after the id, such as ``"b"``; three dots skip the question.

    >>> guess("02-C", ...)
    02-C  skipped
    """
    asks = question(id)
    letter = str(option).strip().lower()
    if option == "":
        _show(id, asks)
    elif option is ...:
        print(f"{id}  skipped")
    elif letter in asks.options:
        progress.keep("guesses", id, letter)
        print(f"{id}  your guess is {letter}")
    else:
        example = f"guess({id!r}, {min(asks.options)!r})"
        print(f"{id}  {option!r} is none of the options: {', '.join(asks.options)}. For example: {example}")


def answer(id: str) -> None:
    """Show the answer to a question, and what you guessed."""
    asks, guessed = question(id), kept_guess(id)
    words = asks.conclusion()
    if guessed and guessed in asks.right:
        words = f"you guessed {guessed}, and {words}"
    elif guessed:
        words = f"you guessed {guessed}: {asks.replies[guessed]}\n      {words}"
    mine = f"<p>Your guess was <b>{guessed}</b>.</p>" if guessed else ""
    page = f"<p>{_heading(id, asks)}</p>{mine}{_reply(asks, guessed)['words']}"
    publish(at_words(f"{id}  {words}", indent=" " * 6), box("guess", page, "Guesses"))


def kept_guess(id: str) -> str:
    """The letter that was guessed. Empty without a guess, and if there's no such option: anyone may edit the record."""
    letter = progress.read()["guesses"].get(id, "")
    return letter if letter in question(id).options else ""


def _show(id: str, asks: Question) -> None:
    """Buttons in a notebook, or words. What to do next is to `call` a function, or in a notebook to `run` the cell."""
    chosen = kept_guess(id)
    call, run = f'Write guess("{id}", "{min(asks.options)}") to guess.', "Run this cell to guess."
    if chosen:
        kept = f"Your guess, {chosen}, is kept. "
        if not progress.is_kept("guesses", id):
            kept = f"Your guess, {chosen}, lasts until this kernel ends: it couldn't be written. "
        call = kept + (asks.later or f'answer("{id}") shows the answer.')
        run = kept + (asks.later or "Run this cell to see the answer.")
    text = as_words(id, asks, call)
    if ipython() is None:
        print(text)
        return
    view = {"version_major": 2, "version_minor": 0, "model_id": _box()(id, asks, chosen).model_id}
    publish(text, as_page(id, asks, run, chosen), {VIEW: view})


def as_words(id: str, asks: Question, hint: str) -> str:
    """A question as plain lines, without the answer, and with the `hint` below it.

    >>> print(as_words("02-B", question("02-B"), "Run this cell.").splitlines()[-1])
          Run this cell.
    """
    options = (f"      {letter}  {plain(text)}" for letter, text in asks.options.items())
    return "\n".join([f"{id}  {plain(asks.words)}", *options, f"      {plain(hint)}"])


def as_page(id: str, asks: Question, hint: str, chosen: str = "") -> str:
    """A question as HTML that needs no kernel, without the answer, and with the `hint` below it."""
    items = (
        f'<li class="option{" chosen" * (letter == chosen)}"><b>{letter}</b> <span>{marked(text)}</span></li>'
        for letter, text in asks.options.items()
    )
    page = [f"<p>{_heading(id, asks)}</p>", "<ul>", *items, "</ul>", f'<p class="small">{marked(hint)}</p>']
    return box("guess", "\n".join(page), "Guesses")


def _heading(id: str, asks: Question) -> str:
    return f'<b class="id">Guess {id}</b> {marked(asks.words)}'


@functools.cache
def _box() -> Any:
    """The widget's class. anywidget is loaded when a lesson first asks."""
    from anywidget import AnyWidget
    from traitlets import Bool, Dict, Unicode

    class Box(AnyWidget):
        """A question with buttons. The page gets the answer only when `guess.js` asks for it."""

        _esm = text_of("keys.js") + "\n" + Path(__file__).with_name("guess.js").read_text(encoding="utf-8")
        _css = style("Guesses")
        question, later, chosen = (Unicode().tag(sync=True) for _ in range(3))
        kept = Unicode().tag(sync=True)  # the letter in our record: on a page without its kernel, a click keeps nothing
        written = Bool(True).tag(sync=True)  # False if the record's file couldn't be written: the disk may be full
        options, answer = Dict().tag(sync=True), Dict().tag(sync=True)
        asked = Bool().tag(sync=True)
        votes = Bool().tag(sync=True)  # a wall listens: a class votes, talks, and votes again

        def __init__(self, id: str, asks: Question, chosen: str) -> None:
            options = {letter: marked(text) for letter, text in asks.options.items()}
            super().__init__(question=_heading(id, asks), options=options, chosen=chosen, later=asks.later)
            self._id = id
            self._note(chosen)
            self.observe(self._keep, names="chosen")
            self.observe(lambda change: setattr(self, "answer", _reply(asks, self.chosen)), names="asked")

        def _keep(self, change: Any) -> None:
            progress.keep("guesses", self._id, change.new)
            self._note(change.new)

        def _note(self, letter: str) -> None:
            with self.hold_sync():  # the page gets both at once
                self.written = progress.is_kept("guesses", self._id)
                self.kept = letter
                self.votes = bool(progress.listeners)

    return Box


def _reply(asks: Question, chosen: str) -> dict[str, str]:
    """The answer as the box shows it: the right letter, and what's said to the guess, if any, and to it."""
    if asks.verdict:
        letters = " or ".join(f"<b>{letter}</b>" for letter in asks.right)
        words = f"<p>It's {letters}: {marked(asks.verdict)}</p>"
    else:
        words = f"<p><b>{asks.right}</b> is right: {marked(asks.replies[asks.right])}</p>"
    if chosen and (asks.verdict or chosen != asks.right):
        words = f"<p><b>{chosen}</b>: {marked(asks.replies[chosen])}</p>{words}"
    return {"right": asks.right, "words": words}
