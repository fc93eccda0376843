"""check, todo, guess, expect_error and start, as a learner sees them."""

import linecache
import sys
import unittest.mock

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import fluxlite as fl
from fluxlite_course import answer, check, expect_error, guess, reset, start, todo
from fluxlite_course.kit import exercises, guesses, progress
from fluxlite_course.kit.exercises import NotRight, exercise, judge
from fluxlite_course.kit.magics import DeviceMagics
from fluxlite_course.kit.puzzles import puzzle

pytestmark = pytest.mark.usefixtures("own_progress")


@exercise("99.1", "twice the number", look_at="the text above")
def twice(f):
    if callable(f) and f(2) == 4:
        return "twice two is four"
    raise NotRight("twice two is four", yours=f(2), expected=4)


@exercise("99.2", "where the checks run")
def place(f):
    return f"{f(np.ones(2, np.float32))}"


class Lesson99:
    first, second, twice_again = twice, place, twice


@pytest.fixture(autouse=True)
def a_lesson_of_our_own(monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    real = exercises.lesson
    monkeypatch.setattr(exercises, "lesson", lambda number: Lesson99 if number == "99" else real(number))


def cell(code, name="<cell 1>"):
    """Run code as a notebook does: from text that isn't a file but can be looked up."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    space = {"todo": todo, "fl": fl, "np": np}
    exec(compile(code, name, "exec"), space)
    return space


@pytest.fixture
def notebook():
    """Runs cells as a notebook does, with `check` in them."""
    config = Config({"HistoryManager": {"enabled": False}})
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    shell.push({"check": check})
    yield lambda *cells: [shell.run_cell(cell) for cell in cells]
    InteractiveShell.clear_instance()


# -- verdicts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("f = lambda x: 2 * x +", "the cell that defines f ended with a SyntaxError: it has to run to its end first"),
        ("1 / 0\ndef f(x):\n    return 2 * x", "the cell that defines f ended with a ZeroDivisionError"),
        ("1 / 0\ng, f = None, None", "the cell that defines f ended with a ZeroDivisionError"),
        ("def f(x):\n    return x\n1 / 0", "the cell that defines f ended with a ZeroDivisionError"),
        ("assert f(2) == 5", "99.1  right"),
    ],
)
def test_after_a_cell_that_failed_the_old_answer_is_not_judged(notebook, capsys, cell, told):
    notebook("def f(x):\n    return 2 * x", cell)
    capsys.readouterr()
    notebook('check("99.1", f)')
    assert told in capsys.readouterr().out
    notebook("def f(x):\n    return x + x", 'check("99.1", f)')
    assert "99.1  right" in capsys.readouterr().out


def test_right(capsys):
    check("99.1", lambda x: 2 * x)
    assert capsys.readouterr().out == "99.1  right       twice two is four   (1 of 2 in this lesson)\n"
    assert progress.read()["checks"] == {"99.1": "right"}


def test_not_right(capsys):
    check("99.1", lambda x: x)
    assert capsys.readouterr().out == (
        "99.1  not right   twice two is four\n"
        "      yours       2\n"
        "      expected    4\n"
        "      look at     the text above\n"
    )
    assert progress.read()["checks"] == {"99.1": "not right"}


@pytest.mark.parametrize("value", [0, np.zeros(2)])
def test_what_counts_as_false_is_shown_too(value):
    @exercise("99.1", "none")
    def shown(_):
        raise NotRight("no", yours=value)

    assert exercises._try(shown.marked, [None]).rows == (("yours", str(value)),)


def test_what_was_right_once_stays_so(capsys):
    check("99.1", lambda x: 2 * x)
    check("99.1", lambda x: x)
    assert progress.read()["checks"] == {"99.1": "right"}


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("def f(x):\n    todo()", "not yet"),
        ("def f(x):\n    if x > 1:\n        todo()\n    return 2 * x", "not yet"),
        ("def f(x):\n    return 3 * x  # the bug\n\n\ntodo()  # your line or lines here", "not yet"),
        ("def f(x):\n    return 3 * x\n\n\nmark = '#'; todo()", "not yet"),
        ("class f:\n    def __call__(self, x):\n        return 2 * x\n\n\ntodo()", "not yet"),
        # One rule for functions and numbers, whose cell a check can't see: what's right is right.
        ("def f(x):\n    return 2 * x\n\n\ntodo()  # your line or lines", "right"),
        ("# todo() was here\ndef f(x):\n    'todo() stood here'\n    return 2 * x", "right"),
    ],
)
def test_a_todo_that_is_called_is_not_yet(code, word):
    assert judge("99.1", cell(code)["f"]).word == word


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["f = lambda x: 2 * x\ntodo()  # your line"], "not yet     todo() is still in the cell above"),
        (["def f(x):\n    return 2 * x\n\n\ntodo()"], "not yet     todo() is still in the cell above"),
        (["f, g = F(), 1\ntodo()", "1 +"], "not yet     todo() is still in the cell above"),
        (["f = ...\ntodo()", "f = F()  # todo() was here"], "right"),
        (["f = ...\ntodo()", "for f in [F()]:\n    pass"], "right"),
        (["def g(f):\n    todo()", "f = F()"], "right"),
        (["%%puzzle 99-1\nf = 2\ntodo()", "f = F()"], "right"),
    ],
)
def test_a_right_answer_counts_once_its_cell_has_no_todo(notebook, capsys, cells, told):
    notebook("from fluxlite_course import todo\n\n\nclass F:\n    def __call__(self, x):\n        return 2 * x")
    shell = InteractiveShell.instance()
    for each in cells:
        shell.run_cell(each, store_history=True)
    capsys.readouterr()
    shell.run_cell('check("99.1", f)', store_history=True)
    assert f"99.1  {told}" in capsys.readouterr().out
    assert (progress.read()["checks"] == {}) == told.startswith("not yet")


def test_not_yet_says_what_to_do():
    assert judge("99.1", cell("def f(x):\n    todo()")["f"])[:3] == (
        "99.1",
        "not yet",
        "todo() is still in the cell above: replace it, or delete it",
    )
    assert judge("99.1", ...).word == "not yet"


def test_a_todo_in_a_class_does_not_stop_the_cell():
    assert "F" in cell("class F:\n    todo()")


def test_stopped_names_the_learners_line():
    verdict = judge("99.1", cell("def f(x):\n    y = x + 1\n    return y.shape")["f"])
    assert verdict.word == "stopped"
    assert verdict.message == "your code raised AttributeError: 'int' object has no attribute 'shape'"
    assert dict(verdict.rows) == {"your line": "return y.shape", "look at": "the text above"}


def test_an_error_without_a_line_of_theirs_is_not_called_theirs():
    assert judge("13.2", lambda path: 1).message.startswith("with your answer, the check ended in TypeError: ")


def test_what_cannot_be_described_is_no_error():
    class Shut(dict):
        __getattr__ = dict.__getitem__

        def __repr__(self):
            raise ValueError

    assert exercises.brief(Shut()) == "a Shut that can't be printed" and exercises.brief(None) == "None"


def test_an_interrupt_does_not_escape():
    def f(x):
        raise KeyboardInterrupt

    assert judge("99.1", f)[:3] == ("99.1", "stopped", "you interrupted it")


class Mute(Exception):
    def __str__(self):
        raise TypeError("no words")


def test_an_error_and_a_value_without_words():
    def f(x):
        raise Mute

    message = judge("99.1", f).message
    assert message == "your code raised Mute: a Mute that can't be printed (TypeError)"
    assert ("yours", "a Mute that can't be printed (TypeError)") in judge("99.1", lambda x: Mute()).rows
    assert len(dict(judge("99.1", lambda x: "x" * 99_999).rows)["yours"]) < 3_000


class Odd:
    """An answer of which nothing can be asked."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __eq__(self, other):
        raise ZeroDivisionError

    __hash__ = None


def shut():
    """A learner's function that closes what `print` writes to."""
    sys.stdout.close()
    return 1


@pytest.mark.parametrize("made", [Odd, lambda: Odd, lambda: shut], ids=["object", "class", "shut"])
@pytest.mark.parametrize("asks", [lambda x: x == 1, lambda x: x(), lambda x: np.sum(x)])
def test_no_answer_makes_a_check_raise(made, asks):
    def of_any_kind(x):
        if asks(x) is not True:
            raise NotRight("no", x)
        return "yes"

    assert exercises.verdict_on(exercises.Exercise("00.1", "", of_any_kind, ""), made()).word in (
        "not right",
        "stopped",
    )


def test_what_equals_everything_is_not_right():
    assert judge("00.1", unittest.mock.ANY).word == "not right"


@pytest.mark.parametrize("answers", [(), (abs, abs)])
def test_too_few_and_too_many_answers_are_no_mistake_of_the_code(answers):
    verdict = judge("99.1", *answers)
    expected = f"this check takes 1 answer after its number, and was given {len(answers)}"
    assert (verdict.word, verdict.message) == ("not yet", expected)


def test_what_the_code_printed_is_shown_only_where_it_helps(capsys):
    def f(x):
        print("in f")
        return x

    assert ("printed", "in f\nin f") in judge("99.1", f).rows
    check("99.1", lambda x: print("in f") or 2 * x)
    assert "in f" not in capsys.readouterr().out


def test_a_check_has_a_card_of_its_own_and_leaves_the_lessons_alone():
    with fl.simulate_gpu(like="GTX 1650") as device:
        assert "Simulated:0" in judge("99.2", lambda x: str(fl.device_of(fl.gpu(x)))).message
        assert judge("99.2", lambda x: fl.gpu_device().name).message == "simulated NVIDIA T4"
        assert fl.gpu_device() is device and device.memory().peak == 0
    assert judge("99.2", lambda x: fl.gpu_name()).message == "Simulated"
    assert fl.gpu_name() == "CPU"


def test_what_is_said_once_is_not_used_up_by_a_check(capsys):
    judge("99.2", lambda x: fl.gpu(np.ones(2)))
    assert fl.notices() == []


def test_nbgrader_gets_an_exception(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check("99.1", lambda x: 2 * x)
    for wrong in (lambda x: x, ..., None):
        with pytest.raises(AssertionError, match="99.1"):
            check("99.1", wrong)


@pytest.mark.parametrize("id", ["99.7", "98.1", 3.1])
def test_an_unknown_exercise_is_a_mistake_of_the_lesson(id):
    with pytest.raises(ValueError, match="there is no"):
        check(id, 1)


# -- guesses --------------------------------------------------------------------------------------------------------


def test_a_guess_is_kept_and_shown_beside_the_answer(capsys):
    guess("02-C", ...)
    answer("02-C")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "02-C  skipped" and lines[1].startswith("02-C  it is b: ")
    guess("02-C", "A ")
    answer("02-C")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "02-C  your guess is a" and lines[1].startswith("02-C  you guessed a: functor moves nothing")
    assert lines[2].startswith("      it is b: ")
    guess("02-C", "b")
    answer("02-C")
    assert capsys.readouterr().out.splitlines()[1].startswith("02-C  you guessed b, and it is b: ")


def test_a_question_is_printed_where_no_page_shows_it_and_never_its_answer(capsys):
    guess("02-C")
    before = capsys.readouterr().out
    question = "Then we register it, with functor(ActorCritic). Where are the arrays of m2 afterwards?"
    assert before.splitlines()[0].startswith("02-C  The class below isn't registered")
    assert before.splitlines()[0].endswith(question)
    assert "      b  on the CPU, as before" in before and before.endswith('Write guess("02-C", "a") to guess.\n')
    guess("02-C", "a")
    guess("02-C")
    assert capsys.readouterr().out.endswith('Your guess, a, is kept. answer("02-C") shows the answer.\n')
    assert not any(reply in before for reply in guesses.question("02-C").replies.values())


def shown(monkeypatch, code):
    """What a cell publishes, by its kind."""
    published = []
    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell.display_pub, "publish", lambda data, **about: published.append(data))
    shell.run_cell(code).raise_error()
    return published[-1]


def test_a_box_sends_the_answer_only_when_it_is_asked_for(notebook, monkeypatch):
    pytest.importorskip("anywidget")
    made, real = [], guesses._box()
    monkeypatch.setattr(guesses, "_box", lambda: lambda *args: made.append(real(*args)) or made[0])
    data = shown(monkeypatch, "from fluxlite_course import guess; guess('02-C')")
    (box,) = made
    assert data[guesses.VIEW]["model_id"] == box.model_id and "Run this cell to guess." in data["text/html"]
    assert box.kept == ""
    box.chosen = "d"
    assert (
        progress.read()["guesses"] == {"02-C": "d"}
        and box.kept == "d"
        and "functor lets later" not in str(box.get_state())
    )
    box.asked = True
    assert box.answer["right"] == "b" and "<b>d</b>: an object may be older" in box.answer["words"]


def test_a_guess_that_could_not_be_written_is_not_said_to_be_kept(notebook, monkeypatch, tmp_path, capsys):
    pytest.importorskip("anywidget")
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "not there" / "progress.json"))
    box = guesses._box()("02-C", guesses.question("02-C"), "")
    box.chosen = "d"
    assert box.kept == "d"
    assert not box.written
    assert not guesses._box()("02-C", guesses.question("02-C"), "d").written
    data = shown(monkeypatch, "from fluxlite_course import guess; guess('02-C')")
    for words in (data["text/plain"], data["text/html"]):
        assert "Your guess, d, lasts until this kernel ends" in words
    (tmp_path / "not there").mkdir()
    progress.keep("guesses", "02-B", "a")  # which writes all that's missing
    assert guesses._box()("02-C", guesses.question("02-C"), "d").written


def test_where_a_wall_listens_a_guess_may_be_changed(monkeypatch):
    pytest.importorskip("anywidget")
    heard = []
    monkeypatch.setattr(progress, "listeners", [lambda: heard.append(progress.read()["guesses"]["02-C"])])
    box = guesses._box()("02-C", guesses.question("02-C"), "")
    box.chosen = "a"
    box.chosen = "b"
    assert heard == ["a", "b"] and box.kept == "b" and box.votes
    monkeypatch.setattr(progress, "listeners", [])
    box = guesses._box()("02-C", guesses.question("02-C"), "b")
    assert not box.votes


def test_a_check_has_a_face_with_the_same_words_and_joy_once(notebook, monkeypatch):
    code = "from fluxlite_course import check; check({!r}, {})"
    data = shown(monkeypatch, code.format("99.2", "lambda x: x"))
    assert data["text/plain"].endswith("   (1 of 2 in this lesson)") and "●○" in data["text/html"]
    wrong = shown(monkeypatch, code.format("99.1", "lambda x: x + 7"))
    assert "✗" in wrong["text/html"] and "not right" in wrong["text/html"] and "yours" in wrong["text/html"]
    faces = [shown(monkeypatch, code.format("99.1", "lambda x: 2 * x"))["text/html"] for _ in range(2)]
    assert ["joy" in face for face in faces] == [True, False]


PUZZLE = """
def f(x):
    for _ in range({}):
        x = x + 1
    return x{}
"""


@puzzle("99-1", counts="launches", par=2)
def added(f):
    x = fl.gpu(np.zeros(1_000, np.float32))
    with fl.receipt() as r:
        found = f(x)
    if not np.all(fl.cpu(found) > 0):
        raise NotRight("nothing was added")
    return r


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            [PUZZLE.format(3, "")],
            "99-1  above par   the result is right\n      this run    3 launches",
        ),
        ([PUZZLE.format(2, "")], "99-1  at par      the result is right: well played"),
        ([PUZZLE.format(1, "")], "99-1  under par   the result is right: well played"),
        (
            [PUZZLE.format(1, ""), PUZZLE.format(5, "")],
            "this run    5 launches\n      your best   1 launch\n      par         2",
        ),
        ([PUZZLE.format(0, "")], "99-1  not right   nothing was added\n      par         2 launches"),
        ([PUZZLE.format(0, " + 1j / 0")], "99-1  stopped     your code raised ZeroDivisionError"),
        ([PUZZLE.format(1, " + fl.gpu(np.array(fl.cpu(x)))")], "whole arrays came back to the host"),
        (["g = 1"], "99-1  not yet     the cell has to define f"),
    ],
)
def test_a_puzzle_is_right_or_not_and_beside_par_and_the_best_so_far(notebook, cells, words, monkeypatch, capsys):
    monkeypatch.setattr(Lesson99, "added", added, raising=False)
    shell = InteractiveShell.instance()
    shell.user_ns["fl"], shell.user_ns["np"] = fl, np
    shell.register_magics(DeviceMagics)
    for each in cells:
        capsys.readouterr()
        shell.run_cell(f"%%puzzle 99-1\n{each}").raise_error()
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["e", None])
def test_a_letter_that_is_no_option_raises_nothing(wrong, capsys):
    guess("02-C", wrong)
    assert capsys.readouterr().out.startswith(
        f"02-C  {wrong!r} is none of the options: a, b, c, d. For example: guess("
    )


def test_the_id_of_the_other_kind_names_those_that_there_are():
    with pytest.raises(ValueError, match="there is no exercise '02-C' in this lesson; there are 02.1, "):
        check("02-C", 1)
    with pytest.raises(ValueError, match=r"there is no question '02.2' in this lesson; there are 02-A, "):
        guess("02.2", "a")
    with pytest.raises(ValueError, match="there is no question '03-Z'"):
        guess("03-Z", "a")


@pytest.mark.parametrize("number", exercises.folders())
def test_each_option_has_a_reply_and_one_is_right(number):
    for id, asks in guesses.questions(number).items():
        assert asks.options.keys() == asks.replies.keys() and set(asks.right) <= set(asks.options), id
        assert len(asks.right) == 1 or asks.verdict, id
        assert all(len(letter) == 1 for letter in asks.options), id


# -- deliberate errors ----------------------------------------------------------------------------------------------


def divide(a, b):
    return a / b


def test_the_message_is_printed(capsys):
    with expect_error(ZeroDivisionError, "division"):
        divide(1, 0)
    assert capsys.readouterr().out == "ZeroDivisionError: division by zero\n"


def test_with_the_way_to_it(capsys):
    with expect_error(ZeroDivisionError, "division", traceback=True):
        divide(1, 0)
    first, *steps, last = capsys.readouterr().out.splitlines()
    assert first == "Traceback (most recent call last):" and last == "ZeroDivisionError: division by zero"
    assert [step.strip() for step in steps[1::2]] == ["divide(1, 0)", "return a / b"]
    assert steps[2].endswith("of this cell, in divide")


def test_steps_inside_the_library_are_left_out(capsys):
    with fl.simulate_gpu(), expect_error(TypeError, "is on CPU", traceback=True):
        divide(fl.cu(np.ones(2)), np.ones(2))
    out = capsys.readouterr().out
    assert "fluxlite" not in out.partition("TypeError")[0] and "  … and more, inside the library\n" in out


def test_steps_in_another_file_are_said_to_be_elsewhere(capsys):
    def source(text):
        space = {"divide": divide}
        exec(compile(text, "<another cell>", "exec"), space)
        return space["f"]

    with expect_error(ZeroDivisionError, "division", traceback=True):
        source("def f():\n    return divide(1, 0)")()
    assert "line 2 of another cell, in f" in capsys.readouterr().out


@pytest.mark.parametrize("traceback", [True, False])
def test_no_error_or_another_one_is_not_what_was_expected(traceback):
    with pytest.raises(AssertionError, match="nothing was raised"), expect_error(ValueError, "x", traceback):
        pass
    with pytest.raises(ZeroDivisionError), expect_error(ValueError, "x", traceback):
        divide(1, 0)
    wrong_words = pytest.raises(AssertionError, match="expected to say 'modulo'")
    with wrong_words, expect_error(ZeroDivisionError, "modulo", traceback):
        divide(1, 0)


# -- start, reset -------------------------------------------------------------------------------------------------


def test_start_turns_the_simulated_gpu_on_and_says_so(capsys):
    with fl.pretend(), fl.simulate_gpu(False):
        start("00")
        assert fl.gpu_name() == "Simulated"
    out = capsys.readouterr().out
    assert "GPU: none in use, and none is needed" in out and "pip" not in out
    assert "A simulated NVIDIA T4 stands in" in out and "so far: 0 of" in out and "made for" not in out


@pytest.mark.usefixtures("own_progress")
def test_start_takes_one_line_after_the_first_lesson(capsys):
    progress.keep("checks", "01.2", "right")
    with fl.pretend(), fl.simulate_gpu(False):
        start("02")
        assert fl.gpu_name() == "Simulated"
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"fluxlite {fl.__version__} · GPU: a simulated NVIDIA T4 · 1 of ")
    assert line.endswith(" checks right")


def test_start_leaves_a_gpu_that_is_there_in_charge(capsys):
    with fl.pretend(CUDA=1):
        start("02")
        assert fl.gpu_name() == "CUDA"
    assert "a real one (CUDA)" in capsys.readouterr().out


def test_start_of_a_lesson_that_is_not_there():
    with pytest.raises(ValueError, match="there is no lesson '77'; the lessons are 00, "):
        start("77")


def test_reset(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    reset("02")
    reset("02")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "02-models-that-move.ipynb is here now."
    assert lines[1].startswith("Your work is kept as 02-models-that-move.mine-1.ipynb; ")
