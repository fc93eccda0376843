"""Guesses: asked before a cell runs, kept, and answered afterwards, in one box.

A question, its options, the right one, and what we reply to each, are in ``questions.toml`` in the lesson's folder.
"""

import functools
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from fluxlite.messages import at_words
from simgpu.words import in_words

from . import exercises, progress
from .boxes import box, marked, plain, publish, style

VIEW = "application/vnd.jupyter.widget-view+json"


class Question(NamedTuple):
    """A question with lettered options: which one is right, and a reply to each. `later` says where the answer comes.

    Its words have Markdown's code and emphasis.
    """

    right: str
    words: str
    options: dict[str, str]
    replies: dict[str, str]
    later: str = ""


def questions(number: str) -> dict[str, Question]:
    """A lesson's questions by id, in the order of its folder's ``questions.toml``.

    Raises `ValueError` for an unknown lesson, and for a mistake in the file, with the question where it is.

    >>> questions("02")["02-C"].options["c"]
    'on the GPU, as soon as a computation there needs them'
    """
    file = exercises.folder(number) / "questions.toml"
    found, where = {}, str(file)
    try:
        for id, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
            where = f"{file}, {id}"
            found[id] = _in_file(table)
    except ValueError as error:  # it isn't TOML, isn't UTF-8, or isn't a question
        raise ValueError(f"{where}: {error}") from None
    return found


def _in_file(table: dict[str, Any]) -> Question:
    """A question from its table: ``question`` and ``right``, a text for each letter, and a reply to each."""
    if missing := {"question", "right", "reply"} - table.keys():
        raise ValueError(f"a question has {', '.join(sorted(missing))}, too")
    options = {key: text for key, text in table.items() if len(key) == 1}
    if options.keys() != table["reply"].keys() or table["right"] not in options:
        raise ValueError(f"each option needs a reply, and one is right: {', '.join(options)}; {table['right']!r}")
    return Question(table["right"], table["question"], options, table["reply"], table.get("later", ""))


def question(id: str) -> Question:
    """The question with this id, ``"02-C"``. Raises `ValueError` if there's none."""
    return exercises.named(id, "question", questions(exercises.number_in(id)))


def guess(id: str, *option: Any) -> None:
    """Show a question with its options as buttons. What you click is kept and locked; then you can ask for the answer.

    Where there are no buttons, write the letter behind it, such as ``"b"``; three dots skip the question. Wrong guesses
    are the useful ones.

    >>> guess("02-C", ...)
    02-C  skipped
    """
    asks = question(id)
    if not option:
        _show(id, asks)
        return
    letters = list(asks.options)
    letter = option[0].strip().lower() if isinstance(option[0], str) else ""
    if option[0] is ...:
        print(f"{id}  skipped")
    elif letter in letters:
        progress.keep("guesses", id, letter)
        print(f"{id}  your guess is {letter}")
    else:
        none = f"{in_words(option[0])} is none of the options: {', '.join(letters)}."
        print(f"{id}  {none} For example: guess({id!r}, {letters[0]!r})")


def answer(id: str) -> None:
    """Show the answer to a question, and what you guessed.

    >>> answer("02-C")  # doctest: +SKIP
    02-C  you guessed a; it is b: functor lets later moves in.
    """
    about, guessed = question(id), progress.read()["guesses"].get(id)
    words = f"it is {about.right}: {about.replies[about.right]}"
    if guessed == about.right:
        words = f"you guessed {guessed}, and {words}"
    elif guessed in about.replies:  # not without a guess, nor with an option that no longer exists
        words = f"you guessed {guessed}: {about.replies[guessed]}\n      {words}"
    page = _reply(about, guessed if guessed in about.replies else about.right)["words"]
    mine = f"<p>Your guess was <b>{guessed}</b>.</p>" if guessed in about.replies else ""
    publish(
        at_words(f"{id}  {words}", indent=" " * 6), box("guess", f"<p>{_asked(id, about)}</p>{mine}{page}", "Guesses")
    )


# -- the box --------------------------------------------------------------------------------------------------------


def _show(id: str, asks: Question) -> None:
    chosen = progress.read()["guesses"].get(id, "")
    try:
        widget = _box()(id, asks, chosen)
    except ImportError:  # no anywidget
        publish(*as_page(id, asks, chosen, _hint(id, asks, chosen)))
        return
    view = {VIEW: {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}}
    publish(*as_page(id, asks, chosen), view)


def as_page(id: str, asks: Question, chosen: str = "", hint: str | None = None) -> tuple[str, str]:
    """A question as text and as HTML, without a kernel and without the answer. The `hint` stands below it as HTML."""
    lines = [f"{id}  {plain(asks.words)}", *(f"      {letter}  {plain(text)}" for letter, text in asks.options.items())]
    items = (
        f'<li class="option{" chosen" * (letter == chosen)}"><b>{letter}</b> <span>{marked(text)}</span></li>'
        for letter, text in asks.options.items()
    )
    hint = _hint(id, asks, chosen, "Run this cell") if hint is None else hint
    page = "\n".join([f"<p>{_asked(id, asks)}</p>", "<ul>", *items, "</ul>", f'<p class="small">{marked(hint)}</p>'])
    return "\n".join([*lines, f"      {plain(_hint(id, asks, chosen))}"]), box("guess", page, "Guesses")


def _hint(id: str, asks: Question, chosen: str, again: str = "") -> str:
    """What to do next: call `again` what shows the buttons, or else the plain calls are named."""
    call = f'Write `guess("{id}", "{min(asks.options)}")`'
    if chosen not in asks.options:
        return f"{again or call} to guess."
    answer = f"{again} to see the answer." if again else f'`answer("{id}")` shows the answer.'
    return f"Your guess, {chosen}, is kept. {asks.later or answer}"


def _asked(id: str, asks: Question) -> str:
    return f'<b class="id">Guess {id}</b> {marked(asks.words)}'


@functools.cache
def _box() -> Any:
    """The widget's class. Raises `ImportError` without anywidget, which is loaded when a lesson first asks."""
    from anywidget import AnyWidget
    from traitlets import Bool, Dict, Unicode

    class Box(AnyWidget):
        """A question with buttons. The answer comes here from `guess.js` only when it's asked for."""

        _esm = Path(__file__).with_name("guess.js").read_text(encoding="utf-8")
        _css = style("Guesses")
        question, later, chosen = (Unicode().tag(sync=True) for _ in range(3))
        options, answer = Dict().tag(sync=True), Dict().tag(sync=True)
        asked = Bool().tag(sync=True)

        def __init__(self, id: str, asks: Question, chosen: str) -> None:
            options = {letter: marked(text) for letter, text in asks.options.items()}
            chosen = chosen if chosen in options else ""
            super().__init__(question=_asked(id, asks), options=options, chosen=chosen, later=asks.later)
            self.observe(lambda change: progress.keep("guesses", id, change.new), names="chosen")
            self.observe(lambda change: setattr(self, "answer", _reply(asks, self.chosen)), names="asked")

    return Box


def _reply(asks: Question, chosen: str) -> dict[str, str]:
    """The answer as the box shows it: the right letter, and what's said to the guess and to the answer."""
    words = f"<p><b>{asks.right}</b> is right: {marked(asks.replies[asks.right])}</p>"
    if chosen != asks.right:
        words = f"<p><b>{chosen}</b>: {marked(asks.replies[chosen])}</p>{words}"
    return {"right": asks.right, "words": words}
