"""Warps in another order: each race that changes a value shows two outcomes, and without a race there's one.

Random programs of reads, writes, atomics and barriers are run by all possible orders of their accesses, which says what
can come of them. FLUXLITE_EXAMPLES=2000 tries so many programs.
"""

import itertools
import os
import re
import threading
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import simgpu
from simgpu import jit

PROGRAMS = int(os.environ.get("FLUXLITE_EXAMPLES", "40"))
READ, WRITE, ADD = range(3)
WARP, ELEMENTS, SEEDS = 32, 4, 20


@jit.rawkernel(device=True)
def play(ways, places, begins, x):
    """Each phase goes from one of `begins` to the next. Returns the sum of what a thread reads."""
    t = int(jit.threadIdx.x)
    total = np.int64(0)
    for phase in range(begins.size - 1):
        for k in range(begins[phase], begins[phase + 1]):
            place = places[k, t]
            if place >= 0:
                if ways[k, t] == 0:
                    total = total * 31 + x[place]
                elif ways[k, t] == 1:
                    x[place] = 100 * k + t + 1
                else:
                    jit.atomic_add(x, place, 1000)
        jit.syncthreads()
    return total


@jit.rawkernel()
def played(ways, places, begins, x, seen):
    seen[jit.threadIdx.x] = play(ways, places, begins, x)


@jit.rawkernel()
def played_in_shared_memory(ways, places, begins, out, seen):
    x = jit.shared_memory(np.int32, ELEMENTS)
    t = int(jit.threadIdx.x)
    if t < ELEMENTS:
        x[t] = 0
    jit.syncthreads()
    seen[t] = play(ways, places, begins, x)
    if t < ELEMENTS:
        out[t] = x[t]


def random_program(rng):
    """One or two threads of each of two or three warps; two of a warp never touch the same element.

    In some programs, each warp has an element of its own in each phase: these have no race.
    """
    warps, phases, is_calm = int(rng.integers(2, 4)), int(rng.integers(1, 4)), rng.random() < 0.25
    begins = np.concatenate(([0], rng.integers(1, 4, phases).cumsum())).astype(np.int32)
    ways = rng.choice([READ, READ, WRITE, WRITE, ADD], (begins[-1], warps * WARP)).astype(np.int32)
    places = np.full(ways.shape, -1, np.int32)
    for phase, (begin, end) in enumerate(zip(begins, begins[1:])):
        for k, warp in itertools.product(range(begin, end), range(warps)):
            if rng.random() < 0.7:
                places[k, WARP * warp] = (warp + phase) % 3 if is_calm else rng.integers(2)
            if rng.random() < 0.2 and not is_calm:
                places[k, WARP * warp + 1] = ELEMENTS - 1
    return SimpleNamespace(warps=warps, begins=begins, ways=ways, places=places)


def possible(program):
    """All that `x` and `seen` may hold at the end, by definition: every order of the warps' accesses."""
    threads = program.warps * WARP
    states = {((0,) * ELEMENTS, (0,) * threads)}
    for begin, end in zip(program.begins, program.begins[1:]):
        open_states = {(state, (begin,) * program.warps) for state in states}
        states = set()
        while open_states:
            state, at = open_states.pop()
            ready = [warp for warp in range(program.warps) if at[warp] < end]
            if not ready:
                states.add(state)
            for warp in ready:
                after = tuple(k + (w == warp) for w, k in enumerate(at))
                open_states.add((step(program, state, at[warp], warp), after))
    return states


def step(program, state, k, warp):
    x, seen = map(list, state)
    for t in (WARP * warp, WARP * warp + 1):
        place = program.places[k, t]
        if place >= 0:
            if program.ways[k, t] == READ:
                seen[t] = seen[t] * 31 + x[place]
            else:
                x[place] = int(100 * k + t + 1) if program.ways[k, t] == WRITE else x[place] + 1000
    return tuple(x), tuple(seen)


def launched(kernel, program):
    """What's in `x` and `seen` after a launch."""
    x = simgpu.asarray(np.zeros(ELEMENTS, np.int32))
    seen = simgpu.asarray(np.zeros(program.warps * WARP, np.int64))
    given = [simgpu.asarray(array) for array in (program.ways, program.places, program.begins)]
    kernel[1, program.warps * WARP](*given, x, seen)
    return tuple(x.get().tolist()), tuple(seen.get().tolist())


def orders_seen(kernel, program):
    """The outcomes with all seeds, or, of a race, the end of the first message that names two. None: it names one."""
    outcomes = set()
    for seed in range(SEEDS):
        try:
            outcomes.add(launched(kernel.shuffled(seed), program))
        except jit.DataRace as error:
            if "in another order (seed" in (end := str(error).splitlines()[-1]) and "the same values" not in end:
                return end
            outcomes.add(None)
    return outcomes


@pytest.mark.parametrize("part", range(4))
def test_each_race_shows_two_outcomes(part):
    races = 0
    for number in range(part, PROGRAMS, 4):
        program = random_program(np.random.default_rng(number))
        kernel = (played, played_in_shared_memory)[number % 8 // 4]
        states, found = possible(program), orders_seen(kernel, program)
        if len(states) > 1:
            assert isinstance(found, str), f"program {number} may come to {len(states)} results, and {found} was seen"
            races += 1
        else:
            assert found in ({None}, states), f"program {number} can come to one result alone: {found}"
    assert 2 < races < PROGRAMS / 4  # both kinds were there


@jit.rawkernel()
def summed_without_a_barrier(x, out):
    part = jit.shared_memory(np.float32, 128)
    t = int(jit.threadIdx.x)
    part[t] = x[jit.grid(1)]
    jit.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        half = half // 2
    if t == 0:
        out[jit.blockIdx.x] = part[0]


@jit.rawkernel()
def last_wins(x, out):
    i = int(jit.grid(1))
    out[0] = x[i]


@jit.rawkernel()
def neighbours(x, out):
    i = int(jit.grid(1))
    out[i] = x[i]
    x[i] = out[31 - i]


@jit.rawkernel()
def reversed_by_warps(x, out):
    i = int(jit.grid(1))
    jit.syncwarp()
    out[i] = jit.shfl_xor_sync(0xFFFFFFFF, x[i], 31, width=32)
    jit.syncthreads()
    x[i] = out[127 - i]


@jit.rawkernel()
def unlucky(x, out):
    """A thread that reads 0 goes to a place that isn't there."""
    t = int(jit.threadIdx.x)
    if t == 0:
        x[0] = 1.0
    if t == 32:
        out[int(x[0]) - 1] = 2.0


@jit.rawkernel()
def torn(x, out):
    """The difference is 0, unless the other warp comes between the two reads, or this one between its writes."""
    t = int(jit.threadIdx.x)
    if t == 0:
        x[0] = 1.0
        x[1] = 1.0
    if t == 32:
        out[0] = x[0] - x[1]


@jit.rawkernel()
def tickets(counter, first, last):
    """Each thread takes nine numbers, and notes the first and the last one."""
    t = int(jit.threadIdx.x)
    first[t] = jit.atomic_add(counter, 0, 1)
    for _ in range(7):
        jit.atomic_add(counter, 0, 1)
    last[t] = jit.atomic_add(counter, 0, 1)


def arrays(size=128, outputs=2):
    return simgpu.asarray(np.arange(size, dtype=np.float32)), simgpu.asarray(np.zeros(outputs, np.float32))


@pytest.mark.parametrize(
    ("kernel", "blocks", "threads", "outputs"),
    [(summed_without_a_barrier, 1, 128, 2), (last_wins, 1, 8, 1), (last_wins, 4, 32, 1), (neighbours, 1, 32, 32)],
)
def test_a_races_message_ends_with_two_outcomes(kernel, blocks, threads, outputs):
    ends = []
    for seed in range(SEEDS):
        x, out = arrays(outputs=outputs)
        with pytest.raises(jit.DataRace) as error:
            kernel.shuffled(seed)[blocks, threads](x, out)
        ends.append(str(error.value).splitlines()[-1])
        assert (x.get() == np.arange(128)).all() and not out.get().any()  # as before
    found = [
        re.fullmatch(r"  Seen: (.*) is (.*) with the warps in order, and (.*) in another .*\.", end) for end in ends
    ]
    assert any(found) and all(match[2] != match[3] for match in found if match)
    assert all(match or "Seen: the same values" in end for match, end in zip(found, ends))


def test_an_error_in_one_order_is_an_outcome():
    ends = []
    for seed in range(SEEDS):
        x, out = (simgpu.asarray(np.zeros(1, np.float32)) for _ in range(2))
        with pytest.raises(jit.DataRace) as error:
            unlucky.shuffled(seed)[1, 64](x, out)
        ends.append(str(error.value))
    assert any("Seen: no error with the warps in order, and OutOfBounds in line" in end for end in ends)


def test_a_warp_gives_way_between_two_accesses():
    seen = set()
    for seed in range(5 * SEEDS):
        x, out = (simgpu.asarray(np.zeros(2, np.float32)) for _ in range(2))
        with pytest.raises(jit.DataRace) as error:
            torn.shuffled(seed)[1, 64](x, out)
        seen |= set(re.findall(r"out\[0\] is 0.0 with the warps in order, and (.*) in another", str(error.value)))
    assert seen and seen <= {"1.0", "-1.0"}


def test_warps_go_on_or_give_way_whole_or_in_two_parts():
    seen = set()
    for seed in range(2 * SEEDS):
        counter, first, last = (simgpu.asarray(np.zeros(size, np.int32)) for size in (1, 96, 96))
        tickets.shuffled(seed)[1, 96](counter, first, last)
        together = first.get()[:, None] < last.get()  # so do two threads of which neither is done before the other
        together &= together.T
        of_one_warp = np.repeat(np.repeat(np.eye(3, dtype=bool), WARP, 0), WARP, 1)
        seen.add((bool(together[~of_one_warp].any()), bool(together[of_one_warp].all())))
    # Threads of two warps run side by side only where warps give way, and those of one may part in either case.
    assert seen >= {(False, True), (False, False), (True, False)}, seen


def test_without_a_race_all_orders_give_the_same():
    for seed in range(SEEDS):
        x, out = arrays(outputs=128)
        reversed_by_warps.shuffled(seed)[1, 128](x, out)
        assert (out.get() == np.arange(128).reshape(4, 32)[:, ::-1].ravel()).all()
        assert (x.get() == out.get()[::-1]).all()


@jit.rawkernel(device=True)
def largest(x, begin, end):
    best = x[begin]
    place = begin
    for k in range(begin + 1, end):
        if x[k] > 93:
            return x[k], k
        if x[k] > best:
            best = x[k]
            place = k
    return best, place


@jit.rawkernel(device=True)
def alone(x, rows, order, t):
    """What a thread reads by itself, in every place of the text where it can."""
    best, place = largest(x, order[t], order[t] + 4)
    total = best if x[t] % 2 == 0 else x[order[t]] - place
    for k in range(order[t] % 5, order[t], x[1] - 34):
        if x[k] == 0 or (x[order[k]] > 90 and rows[k][1] != x[k]):
            break
        if x[k] % 3 == 0:
            continue
        total += rows[k, x[k] % 2]
    while x[total % 96] > 40:
        total += 1
    return total * x[t] + len(rows[order[t]]) + rows[order[t]][x[t] % 2]


@jit.rawkernel(device=True)
def exchanged(part, t, value):
    """The value of the next thread of 96. All wait for each other twice."""
    part[t] = value
    jit.syncthreads()
    found = part[(t + 1) % 96]
    jit.syncthreads()
    return found


@jit.rawkernel()
def waits_everywhere(x, rows, order, out, count):
    part = jit.shared_memory(np.int32, 96)
    t = int(jit.threadIdx.x)
    out[t] = exchanged(part, t, x[t]) - 2 * exchanged(part, t, alone(x, rows, order, t))
    if x[0] == 0:
        jit.syncthreads()
    out[t] += exchanged(part, order[t], x[order[t]]) if x[1] > 0 else part[x[t]]
    if x[t] > 80:
        return
    jit.syncthreads()
    out[t] += jit.atomic_add(count, order[t], x[t] * rows[t, 0]) % 5
    jit.syncthreads()
    count[t] += out[t]


def given_and_wanted():
    """Arguments of `waits_everywhere`, and what `out` and `count` hold afterwards."""
    t = np.arange(96)
    x, order, count = (
        (t * 37 % 96).astype(np.int32),
        np.where(t < 91, t * 5 % 91, t).astype(np.int32),
        t.astype(np.int32),
    )
    longer = np.concatenate((x, x[:4]))  # `largest` looks beyond the last one
    rows = np.stack((x * 3 % 17, x * 5 % 19), axis=1).astype(np.int32)
    plainly = FunctionType(alone.function.__code__, {"largest": largest.function, "len": len})
    own = np.array([plainly(longer, rows, order, k) for k in t])
    out = x[(t + 1) % 96] - 2 * own[(t + 1) % 96] + x[(order + 1) % 96]
    goes_on = x <= 80
    out[goes_on] += order[goes_on] % 5
    wanted = count.copy()
    wanted[order[goes_on]] += (x * rows[:, 0])[goes_on]
    wanted[goes_on] += out[goes_on]
    return (longer, rows, order, np.zeros_like(x), count), (out, wanted)


def test_a_warp_can_stop_in_every_place_of_the_text():
    given, wanted = given_and_wanted()
    for kernel in (waits_everywhere, *map(waits_everywhere.shuffled, range(SEEDS))):
        there = [simgpu.asarray(x) for x in given]
        kernel[1, 96](*there)
        assert (there[3].get() == wanted[0]).all() and (there[4].get() == wanted[1]).all()


@pytest.fixture
def no_threads(monkeypatch):
    """As on a platform where none can start."""

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


def test_no_thread_is_started(no_threads):
    with pytest.raises(RuntimeError, match="can't start"):
        threading.Thread(target=print).start()
    test_a_warp_can_stop_in_every_place_of_the_text()
    test_without_a_race_all_orders_give_the_same()
    test_a_races_message_ends_with_two_outcomes(summed_without_a_barrier, 1, 128, 2)
    test_an_error_in_one_order_is_an_outcome()


def test_what_shuffled_takes(capsys):
    for seed in (-1, 1.5, "a"):
        with pytest.raises((TypeError, ValueError), match="seed|SeedSequence|expected non-negative integer"):
            last_wins.shuffled(seed)[1, 1](*arrays())
    kernel = last_wins.shuffled(np.int64(3))
    kernel.watched = (0, 0)
    kernel[1, 1](*arrays())
    assert capsys.readouterr().out.count("i = 0") == 1  # once, though it runs twice
    assert kernel.figures.threads == 1 and last_wins.watched is None
    assert len(kernel.trace(1, 1, arrays())) == 2
    of_cupy = type("ndarray", (), {"__module__": "cupy"})()
    with pytest.raises(TypeError, match="only a simulated GPU can shuffle"):
        kernel[1, 1](of_cupy, of_cupy)
