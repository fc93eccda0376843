"""What several workers check together: each function here is a test, run by `test_distributed.py` in one start.

``python -m fluxlite.distributed -n 2 tests/fluxlite/distributed/program_checks.py FOLDER [name …]`` runs some by hand.
"""

import hashlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path

import numpy as np
from mpi4py import MPI

import fluxlite as fl
import fluxlite.distributed as distributed
from fluxlite.distributed import sums as sums_module

distributed.initialize()
RANK, SIZE = distributed.local_rank(), distributed.total_workers()
FOLDER = Path(sys.argv[1])
WORLD = MPI.COMM_WORLD  # the tests compare by mpi4py itself


def same_on_all(*values):
    """Whether all workers have the same bits."""
    content = b"".join(x.tobytes() if hasattr(x, "tobytes") else repr(x).encode() for x in values)
    return len(set(WORLD.allgather(hashlib.sha256(content).hexdigest()))) == 1


def arrays(x):
    return [leaf for leaf in fl.leaves(x) if isinstance(leaf, np.ndarray)]


def data(rows=23, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 5)), rng.standard_normal((rows, 2))


def small(seed=1):
    fl.seed(seed)
    return fl.f64(fl.Chain(fl.Dense(5, 7, np.tanh), fl.Dense(7, 2)))


def loss(model, x, y):
    return fl.mse(model(x), y)


def train(model, batches, rule=None, epochs=2, together=True, **more):
    state = fl.setup(rule or fl.Adam(0.01), model)
    return fl.train(loss, model, batches, state, epochs, distributed=together, progress=False, **more), state


def close(x, y, tolerance=1e-12):
    return np.allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def compare_with_one(make_data, rule=None, make=small, **more):
    """The same training on all workers and on one."""
    model, alone = make(), make()
    seen = []
    steps = {"each_step": lambda history: seen.append(same_on_all(*arrays(model)))}
    history, state = train(model, make_data(), rule, **steps, **more)
    expected, state_alone = train(alone, make_data(), rule, together=False, **more)
    assert seen and all(seen) and len(seen) == history.steps == expected.steps, (seen, history, expected)
    assert same_on_all(*arrays(state), *history.losses, *history.epoch_losses)
    assert close(history.losses, expected.losses), np.abs(np.subtract(history.losses, expected.losses)).max()
    for x, y in zip(arrays((model, state)), arrays((alone, state_alone)), strict=True):
        assert close(x, y, 1e-10)
    return history


# -- the same as on one -------------------------------------------------------------------------------------------


def check_a_shuffled_loader_with_a_smaller_last_batch():
    compare_with_one(lambda: fl.DataLoader(data(), batchsize=5, shuffle=True, rng=3))


def check_data_of_other_kinds():
    x, y = data()

    class Uncounted:
        def __iter__(self):
            yield x[:4], y[:4]
            yield x[4:], y[4:]

    for make in (
        lambda: fl.DataLoader(data(7), batchsize=2, shuffle=True, rng=3),  # fewer rows than workers
        lambda: [(x[:1], y[:1]), (x[1:9], y[1:9]), (x[9:], y[9:])],
        Uncounted,
        lambda: fl.DataLoader([(x[i], y[i]) for i in range(9)], batchsize=4, shuffle=True, rng=1),
        lambda: fl.DataLoader((x, y), batchsize=6, shuffle=True, rng=1, parallel=True, partial=False),
    ):
        compare_with_one(make)


def check_rules_schedules_and_looking_rarely():
    loader = lambda: fl.DataLoader(data(), batchsize=4)  # noqa: E731
    for rule in (fl.Momentum(0.1), fl.OptimiserChain(fl.ClipNorm(0.1), fl.Descent(0.1))):
        compare_with_one(loader, rule)
    compare_with_one(loader, schedule=fl.cosine(0.05, 12), check_every=4)


def check_ties():
    def make():
        fl.seed(1)
        dense = fl.f64(fl.Dense(5, 5, np.tanh))
        return fl.Chain(dense, fl.Dense.of(dense.weight.T, None), fl.f64(fl.Dense(5, 2)))

    compare_with_one(lambda: fl.DataLoader(data(), batchsize=5), make=make)
    model = make()
    train(model, fl.DataLoader(data(), batchsize=5))
    assert np.shares_memory(model[0].weight, model[1].weight)


def check_many_buckets_of_two_types_and_two_memory_orders():
    def make():
        model = small()
        model[0].weight = np.asfortranarray(model[0].weight)
        return fl.Chain(fl.f64(fl.Dense(5, 5)), *model.layers)

    size, sums_module.SIZE = sums_module.SIZE, 100
    try:
        compare_with_one(lambda: fl.DataLoader(data(), batchsize=5), make=make)
    finally:
        sums_module.SIZE = size
    mixed = [np.ones(3), np.ones((2, 2), np.float32), np.ones(4, np.float16)]
    everything = distributed.DistributedOptimizer(fl.Descent(1.0))
    state = fl.setup(everything, mixed)
    fl.update(state, mixed, [np.full_like(x, RANK) for x in mixed])
    mean = (SIZE - 1) / 2
    assert all(np.allclose(x, 1 - mean) for x in mixed) and same_on_all(*mixed)


# -- parameters and rows --------------------------------------------------------------------------


def check_a_parameter_that_only_one_worker_uses():
    model = {"w": np.ones(2), "rare": np.ones(2), "never": np.ones(2)}
    x = np.arange(1.0, 1 + 2 * SIZE)[:, None] * np.ones(2)

    def loss(m, x):
        return np.mean(x * m["w"]) + (np.mean(x * m["rare"]) if x[0, 0] == 1 else 0.0)

    for _ in range(2):  # the second time, memory of the first must not move what has no gradient
        fl.train(loss, model, [x], fl.setup(fl.Momentum(0.1), model), distributed=True, progress=False)
    assert same_on_all(*arrays(model))
    assert (model["never"] == 1).all() and (model["rare"] < 1).all()


# -- how it ends ----------------------------------------------------------------------------------------------------


def check_callbacks_and_each_step_stop_all():
    def trained(**more):
        return train(small(), fl.DataLoader(data(), batchsize=5), epochs=9, **more)[0]

    stop = fl.early_stopping(lambda history: history.epochs, 2, init_score=0)
    history = trained(callbacks=[stop])
    assert (history.epochs, history.reason) == (2, "early stopping") and same_on_all(history.steps)
    history = trained(each_step=lambda history: RANK == SIZE - 1 and history.steps == 3)  # one worker's wish
    assert history.steps == 3 and history.stopped, history
    history = trained(callbacks=[lambda history: RANK == SIZE - 1])
    assert history.epochs == 1 and history.stopped


def check_an_interrupt_stops_all_after_the_same_step():
    calls = []

    def interrupted(model, x, y):
        calls.append(1)
        if len(calls) == 3 and RANK == SIZE - 1:
            os.kill(os.getpid(), signal.SIGINT)
        return loss(model, x, y)

    model, batches = small(), fl.DataLoader(data(), batchsize=5)
    state = fl.setup(fl.Adam(0.01), model)
    history = fl.train(interrupted, model, batches, state, 9, distributed=True, progress=False)
    assert history.reason == "interrupted" and history.steps == 3, history
    assert same_on_all(*arrays((model, state)), history.losses)


def check_a_loss_that_is_no_number_is_seen_by_all():
    x, y = data()
    y[-1] = np.nan
    model = small()
    before = [a.copy() for a in arrays(model)]
    assert refused(FloatingPointError, [], lambda: train(model, [(x, y)])).history.stopped
    assert all(np.array_equal(a, b) for a, b in zip(arrays(model), before))


def check_an_exception_in_one_worker_ends_the_training_of_all_and_the_next_one_works():
    if SIZE == 1:
        return
    calls, model = [], small()

    def wrong(model, x, y):
        calls.append(1)
        if len(calls) == 2 and RANK == 1:
            raise KeyError("planted")
        return loss(model, x, y)

    def trained():
        fl.train(wrong, model, [data()] * 5, fl.setup(fl.Adam(), model), distributed=True, progress=False)

    if RANK == 1:
        refused(KeyError, [], trained)
    else:
        words = ["worker 1 of", "process", MPI.Get_processor_name().split(".")[0], "KeyError: 'planted'"]
        assert refused(distributed.WorkerFailed, words, trained).history.stopped
    compare_with_one(lambda: fl.DataLoader(data(), batchsize=5, shuffle=True, rng=3))


def refused(kind, words, call):
    try:
        call()
    except kind as error:
        said = "\n".join([str(error), *getattr(error, "__notes__", ())])
        assert all(word in said for word in words), said
        return error
    raise AssertionError(f"not refused: {words}")


def check_other_data_models_and_settings_are_refused_by_all():
    if SIZE == 1:
        return
    uneven = [tuple(a[: 9 + RANK] for a in data())] * 2
    refused(ValueError, ["differ in size", f"{9 + RANK} rows"], lambda: train(small(), uneven))
    loader = fl.DataLoader(data(20 + RANK), batchsize=5)
    refused(ValueError, ["the number of batches", "worker 0", "worker 1"], lambda: train(small(), loader))
    refused(ValueError, ["epochs"], lambda: train(small(), [data()], epochs=1 + RANK))
    wide = fl.Chain(fl.f64(fl.Dense(5, 3 + RANK)), fl.f64(fl.Dense(3 + RANK, 2)))
    refused(ValueError, ["layers[0].bias", "(3,)", "(4,)"], lambda: train(wide, [data()]))
    mine = fl.DataLoader(distributed.DistributedDataContainer(data()), batchsize=5)
    refused(TypeError, ["DistributedDataContainer", "whole data"], lambda: train(small(), mine))


# -- in files -------------------------------------------------------------------------------------------------------


def check_resumed_on_another_number():
    """The first start, of two workers, writes the file; those of three and of one go on with it."""
    loader = lambda: fl.DataLoader(data(), batchsize=5, shuffle=True, rng=7)  # noqa: E731
    file, alone = FOLDER / "shared.safetensors", small()
    if SIZE == 2:
        train(small(), loader(), epochs=4, checkpoint=file, each_step=lambda history: history.steps == 7)
        return
    WORLD.Barrier()
    own = FOLDER / f"shared{SIZE}.safetensors"
    if RANK == 0:
        own.write_bytes(file.read_bytes())
    model = small(8)
    history, _ = train(model, loader(), epochs=4, checkpoint=own, resume=True)
    expected, _ = train(alone, loader(), epochs=4, together=False)
    assert close(history.losses, expected.losses) and history.steps == expected.steps == 20


# -- what's there for loops of your own ------------------------------------------------------------------------------


def check_allreduce_and_broadcast():
    x = np.arange(6.0).reshape(2, 3) + RANK
    assert distributed.allreduce(x) is x and close(x, SIZE * np.arange(6.0).reshape(2, 3) + SIZE * (SIZE - 1) / 2)
    y = np.full((4, 4), RANK, np.float32)
    distributed.allreduce(y[::2, 1], "mean")
    assert (y[::2, 1] == (SIZE - 1) / 2).all() and (y[1] == RANK).all()
    for dtype in (np.int32, np.int64, np.uint8, np.float16, np.float64):
        assert distributed.allreduce(np.array([RANK, 1], dtype), "max").tolist() == [SIZE - 1, 1]
        assert distributed.allreduce(np.array([RANK, 1], dtype), "min").tolist() == [0, 1]
    assert distributed.allreduce(np.array(RANK + 1j))[()] == SIZE * (SIZE - 1) / 2 + SIZE * 1j
    assert distributed.allreduce(RANK, "max") == SIZE - 1 and distributed.allreduce(1.5, "mean") == 1.5
    assert distributed.allreduce(np.zeros((0, 3))).shape == (0, 3)
    last = SIZE - 1
    z = np.asfortranarray(np.full((2, 3), RANK, np.int8))
    assert distributed.broadcast(z, root=last) is z and (z == last).all()
    assert (distributed.broadcast(np.full((3, 4), RANK)[:, 1:3], root=last) == last).all()
    assert distributed.broadcast(RANK, root=last) == last and distributed.broadcast(np.full(2, RANK != 0))[0] == 0
    refused(TypeError, ["int64", "mean"], lambda: distributed.allreduce(np.arange(3), "mean"))
    refused(ValueError, ["product"], lambda: distributed.allreduce(x, "product"))
    refused(TypeError, ["a list"], lambda: distributed.allreduce([1.0]))
    refused(RuntimeError, ["root"], lambda: distributed.broadcast(x, SIZE))
    shut = np.ones(2)
    shut.flags.writeable = False
    if SIZE > 1:
        refused(BufferError, ["allreduce(x)"], lambda: distributed.allreduce(shut))
        refused(ValueError, ["x", "(2,)", "(3,)"], lambda: distributed.allreduce(np.ones(2 + RANK)))


def check_synchronize():
    fl.seed(RANK)
    model = fl.Chain(fl.Dense(3, 4), fl.BatchNorm(4), fl.Dropout(0.5, rng=np.random.default_rng(RANK)))
    model[1].mean[...] = RANK
    tied = {"a": model[0].weight, "b": model[0].weight.T}
    state = fl.setup(fl.Adam(0.1), model)
    fl.update(state, model, fl.Gradient(layers=(fl.Gradient(weight=np.ones((4, 3), np.float32)), None, None)))
    state.layers[0].weight.memory["steps"] += RANK
    root = SIZE - 1
    assert distributed.synchronize(model, root) is model and distributed.synchronize(tied, root) is tied
    distributed.synchronize(state, root)
    assert same_on_all(*arrays(model), *arrays(state), model[2].rng.bit_generator.state)
    assert np.shares_memory(tied["a"], tied["b"])
    assert state.layers[0].weight.memory["steps"] == 1 + root and model[1].mean[0] == root
    if SIZE > 1:
        other = fl.setup(fl.Adam(0.1 * (RANK + 1)), model)
        refused(ValueError, ["layers[0]", "eta=0.2"], lambda: distributed.synchronize(other))
        refused(ValueError, ["['w']", "(2,)", "(3,)"], lambda: distributed.synchronize({"w": np.ones(2 + RANK)}))


def check_the_container():
    x = np.arange(10)
    own = distributed.DistributedDataContainer((x, x * 2))
    size = -(-10 // SIZE)
    assert len(own) == fl.numobs(own) == min(size, 10 - RANK * size)
    assert fl.getobs(own, 0)[0] == RANK * size
    parts = WORLD.allgather(np.concatenate([batch for batch, _ in fl.DataLoader(own, batchsize=2)]))
    assert np.concatenate(parts).tolist() == list(range(10))
    if SIZE > 1:
        call = lambda: distributed.DistributedDataContainer(np.arange(1))  # noqa: E731
        refused(ValueError, ["none for worker"], call) if RANK else call()


def check_a_loop_of_ones_own():
    x, y = data(12)
    model, alone = small(), small()
    if RANK:
        model[0].weight[...] = 0
    distributed.synchronize(model)
    state = fl.setup(distributed.DistributedOptimizer(fl.Adam(0.01)), model)
    state_alone = fl.setup(fl.Adam(0.01), alone)
    own = fl.DataLoader(distributed.DistributedDataContainer((x, y)), batchsize=12)
    for step in range(4):
        if step == 2:
            fl.adjust(state, 0.05)
            fl.adjust(state_alone, 0.05)
        for batch in own:
            grads = fl.gradient(lambda m, batch=batch: loss(m, *batch), model)[0]
            fl.update(state, model, grads)
        fl.update(state_alone, alone, fl.gradient(lambda m: loss(m, x, y), alone)[0])
        assert same_on_all(*arrays((model, state)))
    for a, b in zip(arrays(model), arrays(alone)):
        assert close(a, b, 1e-10)
    assert "DistributedOptimizer(Adam(eta=0.05" in repr(state)


# -- simulated cards --------------------------------------------------------------------------------------------------


def check_simulated_cards_go_through_the_host():
    x, y = (a.astype(np.float32) for a in data(12))
    with fl.simulate_gpu():
        model, alone = fl.gpu(fl.f32(small())), fl.f32(small())
        batches = [(fl.gpu(x), fl.gpu(y))] * 2
        small_copies, model_bytes = 2 * 2 * 4, sum(a.nbytes for _, a in fl.trainables(alone))
        fl.train(loss, model, batches, fl.setup(fl.Descent(0.0), model), distributed=True, progress=False)  # first uses
        with fl.receipt() as receipt:
            history, state = train(model, batches, epochs=2)
        expected, _ = train(alone, [(x, y)] * 2, epochs=2, together=False)
        assert close(history.losses, expected.losses, 1e-5)
        back = fl.cpu(model)
        assert same_on_all(*arrays(back))
        total = distributed.allreduce(fl.gpu(np.full(3, RANK, np.float32)), "mean")
        assert fl.device_of(total) != fl.device_of(x) and (fl.cpu(total) == (SIZE - 1) / 2).all()
    said = [line for line in fl.notices() if "through the host" in line]
    assert len(said) == (1 if SIZE > 1 and RANK == 0 else 0)
    # Each step one bucket there and back, beside the losses that are read and what's synchronized at the start.
    if SIZE > 1:
        back_bytes, there_bytes = receipt.device_to_host.bytes, receipt.host_to_device.bytes
        assert 4 * model_bytes <= back_bytes <= 8 * model_bytes + small_copies, (back_bytes, model_bytes)
        assert 4 * model_bytes <= there_bytes <= 8 * model_bytes, (there_bytes, model_bytes)


if __name__ == "__main__":
    wanted = sys.argv[2:]
    for name, check in list(globals().items()):
        if name.startswith("check_") and (not wanted or name in wanted):
            fl.reset_notices()
            try:
                check()
                trouble = ""
            except BaseException:
                trouble = traceback.format_exc()
            # One write, so that the workers' lines don't mix.
            sys.stdout.write("\n@" + json.dumps([name, RANK, trouble]) + "\n")
            sys.stdout.flush()
