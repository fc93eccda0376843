"""What a receipt tells beside its counts: times, lines of the program, a timeline, a comparison, a picture, a page."""

import html
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kinds import f32

import fluxlite as fl
from fluxlite import receipt, simulate_gpu
from fluxlite.devices import cpu, gpu


@pytest.fixture
def example(simulated):
    """A receipt of a copy, two launches and a read."""
    x = gpu(f32(4, 4))
    float((x @ x).sum())
    with receipt() as r:
        y = gpu(f32(4, 4))
        z = y @ y
        float(z.sum())
    return r


def test_the_timeline_has_every_event_with_its_times_and_its_line(example):
    moments = example.timeline()
    assert [(m.kind, m.name, m.lane) for m in moments] == [
        ("host to device", "copy", "copies in"),
        ("launch", "matmul", "compute"),
        ("launch", "sum", "compute"),
        ("device to host", "float", "copies out"),
        ("synchronize", "float", "host"),
    ]
    texts = [m.line.split(": ", 1)[1] for m in moments]
    assert texts == ["y = gpu(f32(4, 4))", "z = y @ y", *["float(z.sum())"] * 3]
    assert all(re.match(r"line \d+ of test_receipts.py: ", m.line) for m in moments)
    copy, product, total, read, wait = moments
    assert copy.asked == 0 and copy.start == copy.went_on == product.asked == pytest.approx(15e-6, rel=1e-2)
    assert copy.end == pytest.approx(28e-6, rel=1e-2)  # the host goes on, and the product stands behind the copy
    assert product.start == product.went_on == pytest.approx(35e-6, rel=1e-2)
    assert wait.asked == read.asked == total.went_on and read.start == wait.went_on > total.end
    assert read.start - read.asked == pytest.approx(15e-6)  # to ask for a copy takes the host as long as a kernel
    assert read.end == read.went_on == pytest.approx(float(example.seconds))


def test_loading_a_kernel_is_an_event_of_its_own(simulated):
    x = gpu(f32(2))
    with receipt() as r:
        x.var()
        x.var()
    load, first, second = r.timeline()
    assert (load.kind, load.name, load.lane, load.went_on) == ("first use", "var", "host", 20e-3)
    assert first.asked == load.went_on and first.went_on == pytest.approx(20e-3 + 65e-6)
    assert second.asked == first.went_on
    assert (r.first_uses, r.launches) == (1, 8) and "first uses        1" in repr(r)
    assert r.by_line()[0].seconds == pytest.approx(second.end - second.start, rel=1e-6)


def test_on_a_cpu_seconds_are_measured_and_there_is_nothing_to_count(example):
    assert repr(example).splitlines()[-1].endswith("of this machine's time to simulate it")
    assert example.simulated_seconds == example.seconds and example.wall_seconds > 0
    simulate_gpu(False)
    with receipt() as r:
        np.ones(10) + 1
    assert (r.launches, r.synchronizations, r.peak_memory) == (0, 0, 0)
    assert r.simulated_seconds is None and r.seconds.kind == "measured" and float(r.seconds) == r.wall_seconds
    assert re.fullmatch(r"[\d.]+ [mµ]?s measured", repr(r).splitlines()[-1])


def test_while_a_receipt_is_open_it_tells_so_far(simulated):
    x = gpu(f32(2))
    x + x
    simulated.synchronize()
    with receipt() as r:
        assert r.seconds == 0
        x + x
        assert float(r.seconds) == pytest.approx(18e-6)
        x + x
    assert float(r.seconds) == pytest.approx(33e-6)
    x + x
    assert float(r.seconds) == pytest.approx(33e-6)


def test_a_simulation_that_begins_inside_is_timed():
    with receipt() as r, fl.simulate_gpu():
        x = gpu(f32(2))
        x + x
    assert r.seconds.kind == "simulated" and r.launches == 1
    assert float(r.seconds) == pytest.approx(0.5 + 20e-3 + 33e-6, rel=1e-6)


def test_by_line_counts_all_and_sorts_by_launches(simulated):
    x = gpu(f32(10, 10))
    with receipt() as r:
        for _ in range(5):
            y = x + x  # five
        y = gpu(f32(3))
        float((y * y * y).sum())  # three, and a read
    lines = r.by_line()
    assert [(c.launches, c.copies, c.bytes, c.waits) for c in lines] == [(5, 0, 0, 0), (3, 1, 4, 1), (0, 1, 12, 0)]
    assert [c.line.split(": ")[1] for c in lines] == [
        "y = x + x  # five", "float((y * y * y).sum())  # three, and a read", "y = gpu(f32(3))",
    ]  # fmt: skip
    assert lines[0].seconds == pytest.approx(5 * 3e-6)
    table = repr(lines).splitlines()
    assert table[0].split() == ["launches", "copies", "bytes", "waits", "device's", "time", "line"]
    assert table[1].split()[:6] == ["5", "0", "0", "0", "15", "µs"] and len(table) == 4


def test_the_backward_pass_has_the_line_of_the_gradient_call(simulated):
    model = gpu(fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dense(4, 2)))
    x = gpu(f32(5, 3))

    def loss(m):
        return (m(x) ** 2).sum()

    with receipt() as r:
        fl.gradient(loss, model)
    back, forward = sorted(r.by_line(), key=lambda costs: costs.line)[::-1]
    assert back.line.endswith(": fl.gradient(loss, model)") and forward.line.endswith(": return (m(x) ** 2).sum()")
    assert forward.launches == 7 and back.launches == r.launches - 7 > 7


def test_the_line_is_that_of_the_program_also_through_numpy(simulated):
    x = gpu(np.eye(3, dtype=np.float32))
    with receipt() as r:
        np.linalg.inv(x)
    assert r.by_line()[0].line.endswith("np.linalg.inv(x)")


def test_a_cell_of_a_notebook_is_the_cell(simulated):
    with receipt() as r:
        exec(compile("\n\nx + x", "/tmp/ipykernel_123/456.py", "exec"), {"x": gpu(f32(2))})
    assert r.by_line()[0].line == "line 3 of the cell"


def test_threads_are_counted_together(simulated):
    x = gpu(f32(2))

    with receipt() as r, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: float((x + x).sum()), range(400)))
    assert (r.launches, r.synchronizations, r.device_to_host.count) == (800, 400, 400)
    assert [(line.launches, line.waits) for line in r.by_line()] == [(800, 400)]


def test_a_page_has_a_table_with_everything_escaped(example):
    assert str(example)
    example.launched["<b>"] = 1
    page = example._repr_html_()
    assert "<b>" not in page and html.escape("<b>") in page
    cells = re.findall(r'<th scope="row"[^>]*>(.*?)</th><td[^>]*>(.*?)</td>', page)
    assert ("synchronizations", "1") in cells and len(cells) == 5
    caption = re.search(r"<caption style=\"(.*?)\">(.*?)</caption>", page)
    assert "caption-side:bottom" in caption[1] and "simulated (NVIDIA T4)" in caption[2]


def test_the_picture_has_lanes_and_a_sentence(example):
    picture = example.plot()
    assert repr(picture).startswith(
        "Timeline, simulated (NVIDIA T4), 5 events: in 83 µs the host asks for 55 µs and waits for 28 µs; the GPU "
        "computes for 6 µs, copies in for 13 µs and copies out for 13 µs. The longest wait, 28 µs, is in line "
    )
    assert repr(picture).endswith(": float(z.sum()).")
    assert f'aria-label="{picture.sentence}"' in picture.svg and picture.svg in picture._repr_html_()
    assert "events 2 to 3 of 5" in repr(example.plot(first=1, count=2))
    with pytest.raises(ValueError, match="no events from number 99 on: this receipt has 5 events"):
        example.plot(first=99)
    with pytest.raises(ValueError, match="first is at least 0"):
        example.plot(first=-1)


def test_the_picture_of_only_waits_shows_what_the_host_waits_for(simulated):
    x = gpu(f32(64, 64))
    float(np.sum(x @ x))
    with receipt() as r:
        for _ in range(3):
            y = np.sum(x @ x)
            float(y)
    assert r.synchronizations == 3
    assert repr(r.plot(only_waits=True)).startswith(
        "Timeline, simulated (NVIDIA T4), 3 waits: in 204 µs the host waits for 84 µs; the GPU computes for 19.5 µs "
        "and copies out for 39 µs. The longest wait, 28 µs, is in line "
    )
    second = repr(r.plot(first=1, count=1, only_waits=True))
    assert "wait 2 of 3: in 68 µs the host waits for 28 µs; the GPU computes for 6.5 µs and copies out" in second


def boxes(picture, look):
    """The left end, the width and the height of each box that has this look, the legend's left out."""
    paths = re.findall(rf'class="{look}" d="(.*?)"', picture.svg)
    found = [re.findall(r"M([\d.]+) [\d.]+h([\d.]+)v-([\d.]+)", path) for path in paths[:-1]]
    return [tuple(map(float, box)) for path in found for box in path]


def test_more_events_than_can_be_told_apart_are_drawn_as_shares(simulated):
    """All lanes together still show each time once: the columns' heights add up to what the sentence says."""
    from inside import svg_pictures

    rng = np.random.default_rng(0)
    spans = np.sort(rng.uniform(0, 10, 2000)).reshape(-1, 2)
    rng.shuffle(spans)
    shares = svg_pictures.shares_of(spans, np.linspace(2, 9, 301))
    inside = np.clip(spans, 2, 9)
    assert np.isclose(np.sum(shares) * 7 / 300, np.sum(inside[:, 1] - inside[:, 0]))
    assert shares.min() >= 0 and shares.max() <= 1 + 1e-9
    x = gpu(f32(4))
    with receipt() as r:
        for _ in range(1000):
            x = x + 1
    picture = r.plot(count=1000)
    assert "1,000 of 1,001" in repr(picture) or "1,000 events" in repr(picture)
    assert "the share of each" in picture.svg and len(picture.svg) < 20_000
    heights = [height for look in ("load", "order") for *_, height in boxes(picture, look)]
    assert sum(heights) == pytest.approx(150 * 28, rel=0.01)  # the host always does one or the other


def test_the_picture_shows_all_four_lanes_and_waits_by_stripes(example):
    picture = example.plot()
    texts = re.findall(r"<text .*?>(.*?)</text>", picture.svg)
    lanes = ["host", "compute", "copies in", "copies out"]
    assert [text for text in texts if text in lanes] == lanes
    assert "µs since the receipt was opened, simulated (NVIDIA T4)" in texts
    assert {"asks", "waits", "works", "0", "20", "40", "60", "80"} <= set(texts)
    assert picture.svg.count("stroke-dasharray") == 2  # of the waits, and in the legend
    every = [box for look in ("order", "wait", "work") for box in boxes(picture, look)]
    whole = max(left + width for left, width, _ in every) - min(left for left, _, _ in every)
    # µs, as the picture's sentence says
    assert sum(width for _, width, _ in every) / whole * 83 == pytest.approx(55 + 28 + 6 + 13 + 13, rel=1e-2)
    assert "white" not in picture.svg and "currentColor" in picture.svg


def test_each_card_has_lanes_of_its_own():
    with simulate_gpu(2):
        first, second = (fl.get_device("Simulated", number) for number in (0, 1))
        with receipt() as r:
            first(f32(2)), second(f32(2))
    texts = re.findall(r"<text .*?>(.*?)</text>", r.plot().svg)
    assert {"host", "GPU 0: copies in", "GPU 1: copies in"} <= set(texts) and "copies in" not in texts


@pytest.mark.on("CUDA")
def test_a_real_gpu_is_timed_by_the_real_clock_and_shows_no_lanes(device):
    with receipt() as r:
        x = gpu(f32(3))
        cpu(x + x)
    assert r.seconds.kind == "measured" and r.simulated_seconds is None
    assert r.launches is None and "not visible on CUDA:0" in repr(r)
    assert (r.host_to_device.count, r.device_to_host.count) == (1, 1)
    moments = r.timeline()
    assert moments[0].asked >= 0 and moments[0].start is None and moments[0].line
    assert "not visible" in repr(r.by_line())
    with pytest.raises(ValueError, match="isn.t visible on this device"):
        r.plot()
