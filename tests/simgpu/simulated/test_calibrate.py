"""`calibrate` finds the figures of a card that is known, from times with noise and with some that are wrong."""

import numpy as np
import pytest
from inside import PRESETS, Preset, preset

from fluxlite import calibrate

KNOWN = Preset(
    "known", 10 * 2**30, 60, bandwidth=500e9, float16=40e12, float32=10e12, float64=0.4e12, pageable=7e9, pinned=13e9,
    launch=5e-6, library=7e-6, floor=2e-6, latency=9e-6, first_use=10e-3,
)  # fmt: skip
NOT_MEASURED = ("tape", "start", "queue", "peers", "version", "source", "graph", "node")
FIGURES = [name for name in Preset._fields[3:] if name not in NOT_MEASURED]


def measurements(card, noise=0.03, seed=0):
    """What a recorder would write for this card: nine repeats each; the first is far off."""
    rng = np.random.default_rng(seed)

    def entry(seconds, **what):
        repeats = seconds * (1 + noise * rng.standard_normal(9))
        return what | {"repeats": [repeats[0] * 5, *repeats[1:].tolist()]}

    host = {"launch": card.launch, "library": card.library, "first use": card.first_use}
    found = [entry(seconds, what=what) for what, seconds in host.items()]
    for exponent in range(8, 30):
        kernel = max(card.floor, 2**exponent / card.bandwidth)
        found.append(entry(card.launch + kernel, what="elementwise", bytes=2**exponent))
    for dtype in ("float16", "float32", "float64"):
        for n in (64, 256, 512, 1024, 2048, 4096):
            share = min(1, (n // 64) ** 2 / card.multiprocessors)
            computing = 2 * n**3 / (getattr(card, dtype) * share)
            kernel = max(card.floor, 3 * n * n * np.dtype(dtype).itemsize / card.bandwidth, computing)
            found.append(entry(card.library + kernel, what="product", n=n, dtype=dtype))
    for pinned, link in ((False, card.pageable), (True, card.pinned)):
        for exponent in range(2, 29, 2):
            copy = card.launch + card.latency + 2**exponent / link
            found.append(entry(copy, what="copy", bytes=2**exponent, pinned=pinned))
    return found


def recorded(entries, **more):
    return {"card": "known", "memory": 10 * 2**30, "multiprocessors": 60, "measurements": entries} | more


@pytest.mark.parametrize("seed", range(2))
def test_it_recovers_known_constants_from_noisy_times(seed):
    found = calibrate(recorded(measurements(KNOWN, seed=seed)))
    for figure in FIGURES:
        # What a launch takes is taken off the floor, with its own error.
        assert getattr(found, figure) == pytest.approx(getattr(KNOWN, figure), rel=0.1 if figure == "floor" else 0.05)
    assert found[:3] == KNOWN[:3]


WRONG = {
    "none": {}, "far off": {5: 10, 20: 3, 30: 4, 45: 8, 60: 0.1}, "near": {5: 1.8, 20: 1.5, 30: 0.6, 45: 1.9, 60: 0.5},
}  # fmt: skip


@pytest.mark.parametrize(("noise", "wrong", "rel"), [(0, "none", 1e-3), (0.03, "far off", 0.15), (0, "near", 1e-3)])
def test_single_wrong_measurements_count_little_and_among_exact_ones_nothing(noise, wrong, rel):
    entries = measurements(KNOWN, noise=noise)
    for number, factor in WRONG[wrong].items():
        entries[number]["repeats"] = [seconds * factor for seconds in entries[number]["repeats"]]
    found = calibrate(recorded(entries))
    for figure in FIGURES:
        assert getattr(found, figure) == pytest.approx(getattr(KNOWN, figure), rel=rel), figure


@pytest.mark.parametrize(("card", "figure", "guess", "sizes"), [
    (KNOWN._replace(bandwidth=20e9), "bandwidth", 30e9, (1024, 2048, 4096)),  # these wait for memory
    (KNOWN, "floor", 3e-6, (64,)),
])  # fmt: skip
def test_products_tell_more_than_their_rate(card, figure, guess, sizes):
    products = [entry for entry in measurements(card, noise=0) if entry.get("n") in sizes]
    halves = [entry for entry in products if entry["dtype"] == "float16"]
    found = calibrate(recorded(halves), like=card._replace(**{figure: guess}))
    assert getattr(found, figure) == pytest.approx(getattr(card, figure), rel=1e-3)


def test_what_was_not_measured_is_that_of_the_other_preset():
    a100 = preset("A100")
    card = KNOWN._replace(launch=a100.launch)
    only_copies = [entry for entry in measurements(card) if entry["what"] == "copy" and not entry["pinned"]]
    found = calibrate(recorded(only_copies), like="A100")
    assert found.pageable == pytest.approx(7e9, rel=0.05) and found.latency == pytest.approx(9e-6, rel=0.05)
    assert found.pinned == pytest.approx(a100.pinned)
    assert (found.bandwidth, found.float32, found.launch) == (a100.bandwidth, a100.float32, a100.launch)
    assert calibrate({"measurements": []}, like="A100")._replace(version=3, source=a100.source) == a100


def test_a_calibrated_card_is_another_version_and_the_frozen_one_stays():
    before = PRESETS["NVIDIA T4"]
    mine = calibrate(recorded(measurements(KNOWN), card="NVIDIA T4"))
    assert (mine.name, mine.version) == ("NVIDIA T4", 4)
    assert PRESETS["NVIDIA T4"] is before and before.version == 3
    assert {figure.kind for figure in mine.figures} == {"given"}
    assert calibrate(recorded([]), name="Anna's").version == 1


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"what": "weight", "repeats": [1]}, "one of launch, library, first use, elementwise, .*, copy; got 'weight'"),
        ({"what": "product", "n": 3, "repeats": [1]}, "needs dtype"),
        ({"what": "launch", "repeats": []}, "repeats, seconds above 0"),
        ({"what": "launch", "repeats": [0.0]}, "repeats, seconds above 0"),
        ({"what": "product", "n": 3, "dtype": "int8", "repeats": [1]}, "float16, float32, float64, got 'int8'"),
    ],
)
def test_what_cannot_be_read_is_named(entry, words):
    with pytest.raises(ValueError, match=words):
        calibrate(recorded([entry]))
