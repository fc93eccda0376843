"""Random programs of reads, writes, atomics and barriers, and which of their accesses race, by definition.

A trace is a list of steps: an access ``(way, {(block, thread): element})``, or a barrier of some blocks, or of some
warps. ``python tests/simgpu/kernels/random_traces.py 10000`` compares so many traces.
"""

import itertools
import sys
from types import SimpleNamespace

import numpy as np
from inside import ATOMIC, READ, WRITE, Log, Part, Ref, reach
from inside import lanes as lanes_of

WARP = 32


class Trace:
    def __init__(self, blocks, threads, elements, is_shared, steps):
        self.blocks, self.threads, self.elements = blocks, threads, elements
        self.is_shared, self.steps = is_shared, steps


def random_trace(rng):
    """Few elements and few lanes, so that they meet; in half of the traces, all blocks do the same."""
    is_shared = bool(rng.integers(2))
    blocks, threads = int(rng.integers(1, 4)), int(rng.choice([2, 33, 64]))
    elements = int(rng.choice([3, 8, 70]))
    all_same = bool(rng.integers(2))
    steps = []
    for _ in range(int(rng.integers(2, 12))):
        kind = rng.random()
        if kind < 0.3:
            same = all_same or rng.random() < 0.5
            steps.append(("barrier", list(range(blocks)) if same else sorted({int(rng.integers(blocks))})))
        elif kind < 0.4:
            warps = [(b, w) for b in range(blocks) for w in range(-(-threads // WARP))]
            chosen = [warp for warp in warps if rng.random() < 0.7]
            steps.append(("warp barrier", chosen))
        else:
            places = _places(rng, blocks, threads, elements, all_same)
            steps.append(("access", int(rng.choice([READ, READ, WRITE, ATOMIC])), places))
    return Trace(blocks, threads, elements, is_shared, steps)


def short_traces():
    """One thread at a time comes to one element, the last one to write. Here it matters which readers are kept."""
    for is_shared, *lanes in itertools.product([False, True], *[[0, 1, WARP]] * 4):
        for barriers in itertools.product([False, True], repeat=3):
            steps = []
            for lane, is_barrier in zip(lanes, (False, *barriers)):
                steps += [("warp barrier", [(0, 0)])] * is_barrier
                steps.append(("access", READ, {(0, lane): 0}))
            steps[-1] = ("access", WRITE, {(0, lanes[-1]): 0})
            yield Trace(2, WARP + 1, 1, is_shared, steps)


def _places(rng, blocks, threads, elements, all_same):
    """Each thread its own element, shifted by a few, or any; some threads stay away."""
    style = rng.integers(4)
    shift, share = int(rng.integers(3)), float(rng.choice([0.1, 0.5, 1.0]))
    places = {}
    for block in range(blocks):
        if all_same and block:
            places |= {(block, thread): at for (b, thread), at in list(places.items()) if b == 0}
            continue
        for thread in range(threads):
            if rng.random() > share:
                continue
            if style == 0:
                at = int(rng.integers(elements))
            elif style == 1:
                at = (thread + shift) % elements
            else:
                at = thread + shift + threads * block if thread + shift + threads * block < elements else None
            if at is not None:
                places[block, thread] = at
    return places


def found_by_definition(trace):
    """The first step with a race, and all its pairs ``(thread's place, other's place)``. None if there is no race."""
    past = []  # (element, way, block, thread, barriers of the block, barriers of the warp)
    phase, step = {}, {}
    for number, (kind, *what) in enumerate(trace.steps):
        if kind == "barrier":
            for block in what[0]:
                phase[block] = phase.get(block, 0) + 1
        elif kind == "warp barrier":
            for warp in what[0]:
                step[warp] = step.get(warp, 0) + 1
        else:
            way, places = what
            now = [(at, way, b, t, phase.get(b, 0), step.get((b, t // WARP), 0)) for (b, t), at in places.items()]
            pairs = {(a[2:4], b[2:4]) for a in now for b in past if _race(a, b, trace)}
            pairs |= {(a[2:4], b[2:4]) for a in now for b in now if a is not b and _race(a, b, trace)}
            if pairs:
                return number, pairs
            past += now
    return None


def _race(a, b, trace):
    at, way, block, thread, phase, step = a
    at_b, way_b, block_b, thread_b, phase_b, step_b = b
    if at != at_b or (block, thread) == (block_b, thread_b) or (way == READ and way_b == READ):
        return False
    if way == ATOMIC and way_b == ATOMIC:
        return False
    if block != block_b:
        return not trace.is_shared
    return phase == phase_b and (thread // WARP != thread_b // WARP or step == step_b)


def found_by_log(trace):
    """The same, as the simulated GPU finds it: the first step, and one pair."""
    launch = SimpleNamespace(
        threads=trace.threads, blocks=trace.blocks, block=(trace.threads, 1, 1), grid=(trace.blocks, 1, 1),
        figures=SimpleNamespace(), program=SimpleNamespace(slots=0), memories=[],
        watch=None, notes=[], shared_mem=0,
    )  # fmt: skip
    lanes = lanes_of.Lanes(launch, 0, trace.blocks)
    rows = trace.blocks if trace.is_shared else 1
    log = Log(rows * trace.elements, trace.blocks > 1 and not trace.is_shared, trace.elements * trace.is_shared)
    flat = np.zeros((rows, trace.elements) if trace.is_shared else trace.elements)
    part = Part("x", None, flat, (trace.elements,), (1,), is_shared=trace.is_shared)
    for number, (kind, *what) in enumerate(trace.steps):
        if kind == "barrier":
            log.before_barrier(lanes, len(what[0]) == trace.blocks)
            lanes = _after_a_barrier(lanes, launch)
            lanes.phase[what[0]] += 1
            lanes.step[what[0]] = 0
        elif kind == "warp barrier":
            log.before_barrier(lanes, False)
            lanes = _after_a_barrier(lanes, launch)
            for block, warp in what[0]:
                lanes.step[block, warp] += 1
        else:
            found = _access(log, lanes, trace, part, *what)
            if found is not None:
                return number, *found
    return None


def _after_a_barrier(before, launch):
    """The same lanes, which haven't numbered themselves yet. What they counted goes on."""
    lanes = lanes_of.Lanes(launch, 0, before.blocks)
    lanes.phase[:], lanes.step[:] = before.phase, before.step
    return lanes


def _access(log, lanes, trace, part, way, places):
    if not places:
        return None
    elements = np.full(lanes.shape, -1)
    for place, at in places.items():
        elements[place] = at
    if (elements == elements[0]).all():  # as the simulated GPU has it, one row stands for all blocks
        elements = elements[:1]
    to = reach(lanes, lanes.mask(elements >= 0), Ref(part), [elements], None)
    found = log.race(lanes, to, way)
    if found is None:
        return None
    return sorted(places)[found.place], lanes_of.numbers_of(found.other)


def is_found(trace):
    """Whether there's a race, by definition. `AssertionError` if the simulated GPU finds another one, or none."""
    wanted, got = found_by_definition(trace), found_by_log(trace)
    if (wanted is None) != (got is None) or wanted and (got[0] != wanted[0] or got[1:] not in wanted[1]):
        raise AssertionError(f"by definition {wanted}, found {got}: {trace.steps}")
    return wanted is not None


if __name__ == "__main__":
    races = sum(is_found(random_trace(np.random.default_rng(seed))) for seed in range(int(sys.argv[1])))
    print(f"{sys.argv[1]} traces, {races} with races: none missed, none false")
