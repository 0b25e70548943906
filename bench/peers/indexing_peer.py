# SPDX-License-Identifier: BSD-3-Clause
"""Times drawn cases of masks, gathers, scatters and joins in another library, and prints what
bench/indexing.cpp prints. Usage: indexing_peer.py numpy|cupy|torch|jax CASES.json"""

import json
import os
import pathlib
import sys
import time

import peer as p
import shapes_peer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from indexing_cases import from_fields  # noqa: E402

PRIME = 2654435761  # as in bench/indexing.cpp


class NumpyLike:
    """NumPy, and CuPy, which has the same functions."""

    def values(self, dtype, shape):
        return self.module.resize(self.module.asarray(shapes_peer.some_values(dtype)), shape)

    def positions(self, count, rows):
        return (self.module.arange(count) * PRIME + 17) % rows

    def drawn(self, count):
        return self.module.random.random(count)

    def read(self, x, mask):
        return lambda: x[mask]

    def gather(self, x, at):
        return lambda: self.module.take(x, at, axis=0)

    def write(self, x, at, values):
        def work():
            x[at] = values

        return work

    def add_at(self, x, at, values):
        return lambda: self.module.add.at(x, at, values)

    def integers(self, x):
        return x.astype(self.module.int64)

    def join(self, case, arrays):
        x, n, axis = arrays[0], case.count, case.axis
        counts = [n if d == axis else 1 for d in range(len(case.shape))]
        return {
            "concatenate": lambda: self.module.concatenate(arrays, axis),
            "stack": lambda: self.module.stack(arrays, axis),
            "tile": lambda: self.module.tile(x, counts),
            "roll": lambda: self.module.roll(x, n, axis),
            "pad": lambda: self.module.pad(x, n),
            "flip": lambda: self.module.flip(x, axis).copy(),
        }[case.operation]


class Numpy(NumpyLike, shapes_peer.Numpy):
    pass


class Cupy(NumpyLike, shapes_peer.Cupy):
    pass


class Torch(shapes_peer.Torch):
    """Its sums are asked to be the same in every run, as Quarry's are."""

    def values(self, dtype, shape):
        piece = self.torch.from_numpy(shapes_peer.some_values(dtype)).cuda()
        size = 1
        for extent in shape:
            size *= extent
        return piece.repeat(-(-size // piece.numel()))[:size].reshape(shape)

    def positions(self, count, rows):
        return (self.torch.arange(count, device="cuda") * PRIME + 17) % rows

    def drawn(self, count):
        return self.torch.rand(count, device="cuda")

    def read(self, x, mask):
        return lambda: x[mask]

    def gather(self, x, at):
        return lambda: self.torch.index_select(x, 0, at)

    def write(self, x, at, values):
        def work():
            x[at] = values

        return work

    def add_at(self, x, at, values):
        def work():
            self.torch.use_deterministic_algorithms(True)
            x.index_add_(0, at, values)
            self.torch.use_deterministic_algorithms(False)

        return work

    def integers(self, x):
        return x.long()

    def join(self, case, arrays):
        torch, x, n, axis = self.torch, arrays[0], case.count, case.axis
        counts = [n if d == axis else 1 for d in range(len(case.shape))]
        return {
            "concatenate": lambda: torch.cat(arrays, axis),
            "stack": lambda: torch.stack(arrays, axis),
            "tile": lambda: torch.tile(x, counts),
            "roll": lambda: torch.roll(x, n, axis),
            "pad": lambda: torch.nn.functional.pad(x, (n, n) * x.dim()),
            "flip": lambda: torch.flip(x, (axis,)),
        }[case.operation]


class Jax:
    """Functions are jitted, and what is written is donated, so that it is written in place. JAX
    shows no events of the device: the work is timed on the host, until it is done."""

    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax

        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            raise p.NotHere("no GPU for it")
        self.jax, self.jnp = jax, jax.numpy

    def values(self, dtype, shape):
        return self.jnp.resize(self.jnp.asarray(shapes_peer.some_values(dtype)), shape)

    def positions(self, count, rows):
        return (self.jnp.arange(count) * PRIME + 17) % rows

    def drawn(self, count):
        return self.jax.random.uniform(self.jax.random.key(1), (count,))

    def read(self, x, mask):
        return lambda: x[mask]

    def gather(self, x, at):
        taken = self.jax.jit(lambda x, at: self.jnp.take(x, at, axis=0))
        return lambda: taken(x, at)

    def written(self, x, f, *others):
        into, held = self.jax.jit(f, donate_argnums=0), [x]

        def work():
            held[0] = into(held[0], *others)
            return held[0]

        return work

    def write(self, x, at, values):
        if at.dtype != bool:
            return self.written(x, lambda x, at, values: x.at[at].set(values), at, values)
        mask = at.reshape(at.shape + (1,) * (x.ndim - 1))
        where = self.jnp.where
        return self.written(x, lambda x, mask: where(mask, values, x).astype(x.dtype), mask)

    def add_at(self, x, at, values):
        return self.written(x, lambda x, at, values: x.at[at].add(values), at, values)

    def integers(self, x):
        return x.astype(self.jnp.int64)

    def join(self, case, arrays):
        jnp, n, axis = self.jnp, case.count, case.axis
        counts = [n if d == axis else 1 for d in range(len(case.shape))]
        joined = self.jax.jit({
            "concatenate": lambda *x: jnp.concatenate(x, axis),
            "stack": lambda *x: jnp.stack(x, axis),
            "tile": lambda x: jnp.tile(x, counts),
            "roll": lambda x: jnp.roll(x, n, axis),
            "pad": lambda x: jnp.pad(x, n),
            "flip": lambda x: jnp.flip(x, axis),
        }[case.operation])
        return lambda: joined(*arrays)

    def timer(self, work):
        start = time.perf_counter()
        self.jax.block_until_ready(work())
        return time.perf_counter() - start

    def forget(self):
        self.jax.clear_caches()


def prepared(library, case):
    """The work of the case."""
    if case.group == "joins":
        arrays = [library.values(case.dtype, case.shape) for _ in range(case.copies)]
        return library.join(case, arrays)
    x = library.values(case.dtype, case.shape)
    rows = case.shape[0]
    if case.group == "masks":
        mask = library.drawn(rows) < case.count / 100
        return library.read(x, mask) if case.operation == "read" else library.write(x, mask, 1)
    if case.operation == "add_at":
        at = library.integers(library.drawn(case.count) * rows)
        return library.add_at(x, at, library.values(case.dtype, (case.count,)))
    at = library.positions(case.count, rows)
    if case.operation == "gather":
        return library.gather(x, at)
    return library.write(x, at, library.values(case.dtype, (case.count, *case.shape[1:])))


def main(name, path):
    try:
        library = {"numpy": Numpy, "cupy": Cupy, "torch": Torch, "jax": Jax}[name]()
    except (ImportError, p.NotHere) as reason:
        print(f"left out ({reason})", file=sys.stderr)
        return
    for row in json.loads(pathlib.Path(path).read_text()):
        case = from_fields(row["case"])
        try:
            work = prepared(library, case)
            seconds = p.sample(lambda: library.timer(work), warm_up=1)
            outcome = f"ok {seconds:.9g}"
            del work
        except Exception as error:  # whatever a library may throw
            outcome = "error " + " ".join(f"{type(error).__name__}: {error}".split())[:200]
        print(case.id, outcome, flush=True)
        library.forget()


if __name__ == "__main__":
    main(*sys.argv[1:3])
