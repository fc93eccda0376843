"""Who is the busiest: steps agree with estimates of loops and with the links; the longest lane lights up."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course import busiest
from fluxlite_course.bottleneck import FEEDING, ORDERS, one_step, six_layers, work
from fluxlite_course.lesson15.pictures import exchanges
from fluxlite_course.links import ring
from simgpu import preset

T4 = "NVIDIA T4"


def network(hidden, rows, dtype):
    model = fl.Chain(fl.Dense(3072, hidden, fl.relu), fl.Dense(hidden, 10))
    x, y = np.zeros((rows, 3072), dtype), np.zeros((rows, 10), dtype)
    return lambda m, x, y: fl.logitcrossentropy(m(x), y), model, fl.Adam(), x, y


@pytest.mark.parametrize("hidden", [32, 1024])
def test_a_step_takes_what_a_whole_loop_takes_for_each(hidden):
    loss, model, rule, x, y = network(hidden, 2048, "float32")

    def loop(feed, count):
        def run(model, opt_state):
            for batch in feed(count):
                batch = fl.gpu(batch)
                fl.update(opt_state, model, fl.gradient(lambda m, batch=batch: loss(m, *batch), model)[0])

        return float(fl.estimate(run, model, fl.setup(rule, model), like=T4, shapes_only=True).seconds)

    feeds = {
        FEEDING[0]: lambda count: [(x, y)] * count,
        FEEDING[2]: lambda count: fl.CuIterator([(x, y)] * count),
        FEEDING[3]: lambda count: [fl.gpu((x, y))] * count,
    }
    one = work(network, T4, hidden, 2048)
    for feeding, feed in feeds.items():
        several = (loop(feed, 24) - loop(feed, 12)) / 12  # without the beginning
        assert one_step(one, T4, feeding).seconds == pytest.approx(several, rel=0.1), feeding


def test_a_shuffled_batch_is_gathered_where_the_data_is():
    one = work(network, T4, 640, 2048)
    gathers = one.batch_bytes / preset(T4).staging
    for feeding in FEEDING[:3]:
        in_order, shuffled = (one_step(one, T4, feeding, order=order) for order in ORDERS)
        assert shuffled.lanes["host"] == pytest.approx(in_order.lanes["host"] + gathers), feeding
        assert shuffled.lanes["copy"] == in_order.lanes["copy"]
    ahead = one_step(one, T4, FEEDING[2], order="shuffled")
    assert ahead.busiest == "host" and ahead.seconds == pytest.approx(ahead.lanes["host"])
    there = work(network, T4, 640, 2048, gathers=True)
    # It reads each byte and writes it.
    assert there.compute - one.compute == pytest.approx(2 * one.batch_bytes / preset(T4).bandwidth, rel=0.1)
    assert len(there.pieces) == len(one.pieces) + 2 and there.batch_bytes == one.batch_bytes


def test_several_cards_take_what_lesson_15_says():
    one = work(six_layers, "H100", 2048, 1024)
    step = one_step(one, "H100", cards=2, link="NVLink")
    assert step.seconds == pytest.approx(exchanges(one, 2, "NVLink")[-1][1], rel=1e-3)
    assert step.lanes["network"] == float(ring(one.gradient_bytes, 2, "NVLink"))
    half = work(six_layers, "H100", 2048, 1024, "bf16")
    assert half.gradient_bytes == one.gradient_bytes / 2 and half.compute < one.compute / 3


def test_the_busiest_is_the_longest_lane_and_lights_up_alone():
    scene = busiest(network, batch=(64, 2048), width=(32, 1024))
    bands = {part: part.attributes["display"] for part in scene.picture.parts() if part.attributes.get("x") == 2}
    for n, setting in enumerate(scene.settings):
        one = work(network, T4, int(setting["width"].replace(",", "")), int(setting["batch"].replace(",", "")))
        step = one_step(one, T4, setting["feeding"])
        assert step.lanes[step.busiest] == max(step.lanes.values()) <= step.seconds * 1.0001
        assert [shown[n] for shown in bands.values()].count(None) == 1
        who = {"host": "The host", "copy": "Copying", "compute": "Computing"}[step.busiest]
        assert f"{who} is the busiest." in scene.sentences[n]
    assert "The GPU copies, then computes" in scene.at(batch="2,048", width="1,024", feeding=FEEDING[0])
    assert len(scene._repr_html_()) < 60_000


def test_what_it_refuses():
    with pytest.raises(ValueError, match="feeding is one of copied in each step"):
        busiest(feeding="by hand")
    with pytest.raises(ValueError, match="order is one of in order, shuffled, not 'sorted'"):
        busiest(order="sorted")
    with pytest.raises(ValueError, match="NVLink links 1 to 8 cards, got 16"):
        busiest(cards=16, link="NVLink")
