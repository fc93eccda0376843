"""Scenes, which need no kernel: the markup, the numbers beside it, and what is left without scripts."""

import base64
import json
import math
import re
import zlib
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson14.pictures import tape
from fluxlite_course.scenes import Each, Knob, Part, Scene, drawing
from fluxlite_course.scenes.lanes import LEFT, RIGHT
from fluxlite_course.scenes.parts import moves
from fluxlite_course.scenes.receipts import MOST_EVENTS, lanes
from fluxlite_course.scenes.scene import text_of

VOID = {"meta", "img", "br", "input", "link", "hr"}


class Reader(HTMLParser):
    """Whether each tag is closed in its turn, and what the elements and the data are."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.found, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += [f"<{tag}> stays open" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if len(dict(attributes)) < len(attributes):
            self.wrong.append(f"<{tag}> has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")


def unpacked(scene):
    """What the script puts into the page."""
    packed = re.search('<script type="text/plain">(.*?)</script>', scene._repr_html_())[1]
    return json.loads(zlib.decompress(base64.b64decode(packed), wbits=-15))


def bars():
    picture = drawing(
        30, 9, "Bars",
        Part("rect", x=0, width=Each([10, 20, 20, 10])),
        Part("g", Part("rect", data_n=0), Part("rect", data_n=1), only=Each([(0, 0), (1, 1), (0, 1), (0, -1)])),
        Part("g", Part("polyline"), Part("circle", r=1), Part("circle", r=1), xs=[0, 5],
             ys=Each([[1, 2], [3, 4], [1, 2], [5, 6]])),
        Part("text", text=Each(["a < b", "c", None, "d"]), x=Each([1, None, 1, 1])),
    )  # fmt: skip
    said = ["One. First.", "Two. First.", "One. Second.", "Two. <b> & Second."]
    return Scene(picture, [Knob("size", ["1", "2"]), Knob("time", ["now", "then"], slider=True)], said)


# -- a picture whose parts move ---------------------------------------------------------------------------------------


def test_the_markup_shows_a_state():
    assert bars().picture.markup(0) == (
        '<svg viewBox="0 0 30 9" role="img" aria-label="Bars"><rect x="0" width="10" data-moves=""/>'
        '<g data-moves=""><rect data-n="0"/><rect data-n="1" display="none"/></g>'
        '<g data-moves="" data-xs="[0,5]"><polyline points="0,1 5,2"/>'
        '<circle r="1" transform="translate(0 1)"/><circle r="1" transform="translate(5 2)"/></g>'
        '<text x="1" data-moves="">a &lt; b</text></svg>'
    )
    second = bars().picture.markup(1)
    assert '<rect data-n="0" display="none"/><rect data-n="1"/>' in second and '<text data-moves="">c</text>' in second


def test_equal_values_are_written_once():
    found = {(move.part, move.attribute): (move.values, move.which) for move in moves(bars().picture)}
    assert found[0, "width"] == ([10, 20], [0, 1, 1, 0])
    assert found[2, "ys"] == ([[1, 2], [3, 4], [5, 6]], [0, 1, 0, 2])
    assert found[3, "text"] == (["a < b", "c", None, "d"], [0, 1, 2, 3])


def test_settings_have_sentences_and_the_last_knob_turns_fastest():
    scene = bars()
    assert scene.settings[1] == {"size": "1", "time": "then"}
    assert (scene.at(), scene.at(size="2"), scene.at(time="then")) == ("One. First.", "One. Second.", "Two. First.")
    assert Scene(scene.picture, scene.knobs, scene.sentences, [1, 0]).state == 2


def test_too_few_values_for_the_knobs_are_refused():
    scene = bars()
    with pytest.raises(ValueError, match="the knobs have 4 states, so all that moves takes 4 values, got 3, 4"):
        Scene(scene.picture, scene.knobs, scene.sentences[:3])
    with pytest.raises(ValueError, match="have 6 states, .* got 4"):
        Scene(scene.picture, [Knob("size", ["1", "2", "3"]), scene.knobs[1]], scene.sentences)


# -- HTML -------------------------------------------------------------------------------------------------------------


def test_a_place_in_a_page_is_well_formed_and_says_what_the_library_says():
    scene = bars()
    found = unpacked(scene)
    read, data = Reader(found["page"]), found["data"]
    assert read.wrong == [] and read.ids == []
    assert found["style"] == f"{text_of('picture.css')} {text_of('scene.css')}"
    assert text_of("keys.js") in found["script"]
    assert [" ".join(data["phrases"][n] for n in says) for says in data["says"]] == scene.sentences
    assert ("p", {"class": "fluxlite-says", "role": "status", "aria-live": "polite"}) in read.found
    assert scene.picture.markup(0) in found["page"]


def test_script_and_style_are_short_and_whole():
    script, style = (unpacked(bars())[name] for name in ("script", "style"))
    assert len(script) < 10_000 and len(style) < 8_000
    assert "/*" not in script + style and "//" not in script
    assert "\n" not in script + style and style.count("{") == style.count("}")
    assert script.startswith("(() => {") and script.endswith("})();")
    for word in ("fetch", "XMLHttpRequest", "eval", "import(", "http"):
        assert word not in script + style


def test_in_a_notebook_that_keeps_scripts_out_the_still_picture_is_all_there_is():
    scene = bars()
    stored = scene._repr_html_()
    left = re.sub(r"<script.*?</script>", "", stored, flags=re.DOTALL)
    assert left == f'<div class="fluxlite-packed"><div>{scene.still()}</div></div>'
    assert '<img alt="Bars" src="data:image/svg+xml;base64,' in left and left.count(f"<p>{scene}</p>") == 1
    drawn = ElementTree.fromstring(base64.b64decode(re.search('base64,(.*?)"', left)[1]))
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}rect"))) == 2, "what's hidden is left out"


def test_stored_is_the_telling_state():
    """A film's is its end; another one's is the first. A scene may name another."""
    scene = bars()
    assert "<p>One. First.</p>" in scene.still()
    film = Scene(scene.picture, [scene.knobs[0], scene.knobs[1]._replace(ms=300)], scene.sentences)
    assert "<p>Two. First.</p>" in film.still() and film.at() == repr(film) == "One. First."
    told = Scene(scene.picture, scene.knobs, scene.sentences, telling=[1, 0])
    assert "<p>One. Second.</p>" in told.still() and told.at() == "One. First."


# -- lanes, from receipts ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def receipt():
    """Ten rounds of three launches, a wait and a copy, then ten launches that nobody waits for."""
    with fl.simulate_gpu():
        x = fl.gpu(np.ones((64, 64), np.float32))
        float((x + x).sum())
        with fl.receipt() as r:
            for _ in range(10):
                float((x + x + x).sum())
            for _ in range(10):
                x = x + x
    return r


def boxes(scene):
    """Each box: its lane, its look, its place from left to right, its width, and what it tells."""
    found = []
    for lane in (part for part in scene.picture.parts() if "data-lane" in part.attributes):
        for group in (part for part in lane.inside if str(part.attributes.get("class")).startswith("op ")):
            look = group.attributes["class"].removeprefix("op ")
            places = [[box.attributes[name] for name in ("x", "width", "aria-label")] for box in group.inside]
            found += [(lane.attributes["data-lane"], look, *place) for place in places]
    return found


def test_boxes_are_where_the_receipt_has_them_and_tell_their_operation(receipt):
    drawn = boxes(lanes(receipt))
    scale = (RIGHT - LEFT) / max(max(moment.end, moment.went_on) for moment in receipt.timeline())
    works = [moment for moment in receipt.timeline() if moment.lane == "compute"]
    found = [box for box in drawn if box[:2] == ("compute", "compute")]
    assert len(works) == len(found) == 40
    for moment, (*_, x, width, told) in zip(works, found):
        assert x == pytest.approx(LEFT + moment.start * scale, abs=0.1)
        assert width == pytest.approx(max((moment.end - moment.start) * scale, 1), abs=0.2)
        assert told.startswith(f"{moment.name}: ")
    copies = [told for lane, look, _, _, told in drawn if (lane, look) == ("copies back", "copy")]
    assert len(copies) == 10 and all(told.startswith("copy 4 B: ") for told in copies)
    waits = [told for lane, look, _, _, told in drawn if (lane, look) == ("host", "waits")]
    assert len(waits) == receipt.synchronizations and all("test_scenes.py" in told for told in waits)


def test_orange_is_waiting_alone(receipt):
    """Every lane's waits lie where none of its work does."""
    drawn = boxes(lanes(receipt))
    for lane in ("host", "compute"):
        works = [(x, x + width) for name, look, x, width, _ in drawn if name == lane and look != "waits"]
        waits = [(x, x + width) for name, look, x, width, _ in drawn if name == lane and look == "waits"]
        assert waits and not [1 for a, b in waits for begin, end in works if min(b, end) - max(a, begin) > 1.2]


def test_the_queue_is_as_high_as_what_waits_in_it(receipt):
    told = [told for lane, *_, told in boxes(lanes(receipt)) if lane == "queue"]
    assert set(told) <= {f"{n} orders in the queue" for n in range(2, 20)} | {"1 order in the queue"}
    moments = [moment for moment in receipt.timeline() if moment.lane != "host"]
    at_once = max(sum(b.went_on <= a.went_on < b.start for b in moments if b.kind == "launch") for a in moments)
    assert max(int(words.split()[0]) for words in told) >= at_once


def test_programs_stand_one_above_the_other_on_one_axis(receipt):
    with fl.simulate_gpu():
        x = fl.gpu(np.ones((64, 64), np.float32))
        float((x + x).sum())
        with fl.receipt() as short:
            float((x + x).sum())
    scene = lanes({"long": receipt, "short": short})
    assert re.findall(r"(long|short) is done, with (\d+) waits? of the host", scene.sentences[-1]) == [
        ("long", "10"), ("short", "1"),
    ]  # fmt: skip
    assert "short isn't done" in scene.sentences[1]
    ends = {n: max(x + width for lane, _, x, width, _ in boxes(scene) if lane.startswith(n)) for n in "01"}
    assert ends["0"] == pytest.approx(RIGHT, abs=0.2)
    assert ends["1"] - LEFT == pytest.approx(
        (RIGHT - LEFT) * float(short.seconds) / float(receipt.seconds), rel=0.05, abs=2
    )


def test_places_with_x_and_y_are_for_the_last_two_knobs():
    knobs = [Knob("rate", ["1", "2"], slider=True), Knob("seed", ["1", "2"], slider=True)]
    dot = Part("circle", r=1, cx=Each([1, 1, 2, 2]), cy=Each([1, 2, 1, 2]))
    places = [(1.04, 1), (1, 2), (2, 1), (2, 2.26)]
    scene = Scene(drawing(3, 3, "A dot", dot), knobs, ["a", "b", "c", "d"], along=places)
    assert scene.data()["along"] == [[1, 1], [1, 2], [2, 1], [2, 2.3]]
    with pytest.raises(ValueError, match="got 3, 4"):
        Scene(drawing(3, 3, "A dot", dot), knobs, ["a", "b", "c", "d"], along=places[1:])


def test_dragging_finds_the_place_of_each_moment(receipt):
    scene = lanes(receipt)
    (field,) = [part for part in scene.picture.parts() if "data-drag" in part.attributes]
    seen = next(part for part in field.inside if part.tag == "svg").attributes["width"]
    assert scene.data()["along"] == pytest.approx([x - 1 for x in seen], abs=0.11)
    assert scene.along[0] == LEFT and scene.along[-1] == RIGHT and sorted(scene.along) == list(scene.along)


def test_what_has_no_lanes_raises():
    with pytest.raises(ValueError, match="lanes need events of a simulated GPU"):
        lanes(fl.estimate(lambda x: x, np.ones(2, np.float32)).receipt)


def test_of_very_many_events_the_first_are_shown():
    many = fl.estimate(lambda x: [x + x for _ in range(MOST_EVENTS + 20)], np.ones(2, np.float32)).receipt
    assert lanes(many).sentences[-1].endswith(f"The first {MOST_EVENTS} events; 20 more followed.")


# -- the tape ---------------------------------------------------------------------------------------------------------


def program(w, b):
    return np.tanh(w * 2.0 + b) * w


def test_the_gradients_of_the_backward_pass_are_those_of_the_library():
    scene = tape(program, w=0.5, b=0.1)
    dw, db = np.round(fl.gradient(program, 0.5, 0.1), 2)
    assert scene.sentences[-1] == f"Done: the gradient of w is {dw:g} and b is {db:g}."
    assert re.findall(r"back is at (#\d)", " ".join(scene.sentences)) == ["#6", "#5", "#4", "#3"]
    assert scene.at(step="2 of 10") == "Forward pass: #3 multiply gives 1."


def test_the_backward_pass_hands_each_piece_on_and_a_result_not_used_is_no_entry():
    def f(w):
        np.exp(w)
        return w * w + w

    said = tape(f, w=3.0).sentences
    assert "It hands 1 to #2 and 1 to #1." in said[3] and "It hands 6 to #1." in said[4]


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda w: np.sum(w * np.ones(3)), "an array of shape (3,), and a box has room for one number"),
        (lambda w: 3.0, "the function gives 3.0, which depends on no input"),
        (lambda w: np.ones(2), "which depends on no input"),
        (lambda w: None, "is there a return?"),
        (lambda w: math.sin(w), "write np.tanh(x)"),
        (lambda w: int(w) * w, "would lose the gradient"),
    ],
)
def test_what_has_no_tape_gets_a_sentence(f, words, capsys):
    assert tape(f, w=1.0) is None
    said = capsys.readouterr().out
    assert said.startswith("No picture: ") and words in said and said.count("\n") == 1


def test_an_error_of_the_functions_own_is_raised():
    with pytest.raises(TypeError, match="unexpected keyword"):
        tape(lambda w: w, v=1.0)
