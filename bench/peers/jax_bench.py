# SPDX-License-Identifier: BSD-3-Clause
"""The work items in JAX, each as one jitted function. JAX shows no events of the device: work is
timed on the host, until it is done. Usage: jax_bench.py RESULT.json"""

import os
import types

import items
import peer as p


class Jax:
    """Runs jitted functions and waits for what they give."""

    def __init__(self, jax):
        self.jax, self.jnp, self.last = jax, jax.numpy, None
        self.peer = p.Peer(self.timer, self.wait)

    def wait(self):
        self.jax.block_until_ready(self.last)

    def timer(self, work):
        return self.peer.wall(work)

    def jitted(self, f, *arguments):
        compiled = self.jax.jit(f)

        def work():
            self.last = compiled(*arguments)

        return work

    def on_device(self, item, f, *arguments):
        self.peer.on_device("jax", item, self.jitted(f, *arguments))

    def random(self, k, *shape):
        return self.jax.random.uniform(self.jax.random.key(k), shape, dtype=self.jnp.float32)


def first_use(j):
    a, b = j.random(0, p.SMALL), j.random(1, p.SMALL)
    j.jax.block_until_ready((a, b))
    j.peer.once("jax", "first_kernel", j.jitted(lambda a, b: a * b + j.jnp.sin(a) * 2 - b, a, b))
    j.peer.once(
        "jax", "further_kernel", j.jitted(lambda a, b: j.jnp.sqrt(a) + j.jnp.exp(b) * a, a, b)
    )
    j.peer.issue("jax", "launch_add", j.jitted(lambda a, b: a + b, a, b))
    total = j.jax.jit(lambda a: a.sum())
    j.peer.issue("jax", "item_of_sum", lambda: total(a).item())


def elementwise(j):
    x = [j.random(k, p.LARGE) for k in range(4)]
    m = x[0].reshape(p.SIDE, p.SIDE)
    j.on_device("add", lambda a, b: a + b, x[0], x[1])
    j.on_device("fused", lambda a, b, c, d: a * b + j.jnp.sin(c) * 2 - d, *x)
    j.on_device("where", lambda a, b, c: j.jnp.where(a > 0.5, b, c), *x[:3])
    j.on_device("broadcast", lambda c, r: c[:, None] + r[None, :], x[0][: p.SIDE], x[1][: p.SIDE])
    j.on_device("strided_copy", lambda m: m[::2, ::3], m)
    j.on_device("transpose_copy", lambda m: m.T, m)
    j.on_device("permute_copy", lambda t: t.transpose(2, 0, 1), x[0].reshape(p.permuted_shape()))
    h = [v.astype(j.jnp.float16) for v in x[:2]]
    j.on_device("add_f16", lambda a, b: a + b, *h)
    return x


def reductions(j, x):
    m, tall = x[0].reshape(p.SIDE, p.SIDE), x[0].reshape(-1, 64)
    j.on_device("sum", lambda x: x.sum(), x[0])
    j.on_device("max", lambda x: x.max(), x[0])
    j.on_device("argmax", lambda x: x.argmax(), x[0])
    j.on_device("mean", lambda x: x.mean(), x[0])
    for axis in (0, 1):
        j.on_device(f"sum_axis{axis}", lambda m, axis=axis: m.sum(axis=axis), m)
        j.on_device(f"sum_tall_axis{axis}", lambda m, axis=axis: m.sum(axis=axis), tall)
    j.on_device("sum_squares", lambda a, b: ((a - b) * (a - b)).sum(), x[0], x[1])


def rows(j, x):
    m, nn = x.reshape(-1, p.ROW), j.jax.nn
    j.on_device("softmax", lambda m: nn.softmax(m, axis=1), m)
    j.on_device("softmax_axis0", lambda m: nn.softmax(m, axis=0), m)
    j.on_device("log_softmax", lambda m: nn.log_softmax(m, axis=1), m)
    j.on_device("standardise", lambda m: nn.standardize(m, axis=1, epsilon=0), m)
    j.on_device("logsumexp", lambda m: nn.logsumexp(m, axis=1), m)
    j.on_device("var_rows", lambda m: m.var(axis=1), m)


def programs(j):
    u = j.random(0, p.SIDE // 4, p.SIDE // 4)

    def heat(u):
        return j.jax.lax.fori_loop(0, p.STEPS, lambda _, u: u.at[1:-1, 1:-1].set(p.average(u)), u)

    for item in ("heat_in_place", "heat_two_buffers"):  # one program: XLA chooses its buffers
        j.on_device(item, heat, u)
    jnp = j.jnp
    functions = types.SimpleNamespace(
        atan=jnp.arctan,
        atan2=jnp.arctan2,
        hypot=jnp.hypot,
        cos=jnp.cos,
        sin=jnp.sin,
        positive=lambda x: jnp.maximum(x, 0),
    )
    j.on_device("hillshade", lambda z: p.relief(functions, z), jnp.asarray(p.terrain()))


def small_kernels(j):
    """The programs of bench/small_kernels.cpp, each with all its steps in one jitted function."""
    jnp, loop = j.jnp, j.jax.lax.fori_loop
    import numpy

    n, steps = 128, 100
    fields = [j.random(k, n, n) for k in range(3)]

    def relax(_, p, b):
        p = p.at[1:-1, 1:-1].set(
            0.25 * (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - b[1:-1, 1:-1])
        )
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0].set(p[1])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1].set(0)

    def propagate(t, fields):
        ex, ey, hz = fields
        ey = ey.at[0].set(t)
        ey = ey.at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        inner = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return ex, ey, hz.at[:-1, :-1].add(-0.7 * inner)

    dt, viscosity, spacing = 0.0001, 0.1, 2 / (n - 1)
    inner = numpy.s_[1:-1, 1:-1]

    def around(w):
        return w[1:-1, 2:], w[1:-1, :-2], w[2:, 1:-1], w[:-2, 1:-1]

    def move(w, un, vn, gradient):
        east, west, north, south = around(w)
        drift = un[inner] * (w[inner] - west) + vn[inner] * (w[inner] - south)
        spread = viscosity * dt / spacing**2 * (east + west + north + south - 4 * w[inner])
        w = w.at[inner].set(w[inner] - dt / spacing * (drift + gradient / 2) + spread)
        return w.at[0].set(0).at[:, 0].set(0).at[:, -1].set(0).at[-1].set(0)

    def flow(_, fields):
        u, v, p = fields
        ue, uw, un, us = around(u)
        ve, vw, vn, vs = around(v)
        ux, uy, vx, vy = ue - uw, un - us, ve - vw, vn - vs
        b = spacing / 4 * ((ux + vy) / (2 * dt)) - (ux * ux + 2 * uy * vx + vy * vy) / 16
        # relax() takes a quarter of what it is given
        b = jnp.zeros_like(p).at[inner].set(4 * b)
        p = loop(0, 50, lambda i, p: relax(i, p, b), p)
        east, west, north, south = around(p)
        return move(u, u, v, east - west).at[-1].set(1), move(v, u, v, north - south), p

    def attraction(x, m):
        d = x[None] - x[:, None]
        r2 = (d * d).sum(axis=2) + 0.01
        w = m / (r2 * jnp.sqrt(r2))
        return (d * w[:, :, None]).sum(axis=1)

    def normal(d):
        k = 1 / (1 + 0.2316419 * jnp.abs(d))
        series = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
        series = k * (0.31938153 + k * (-0.356563782 + k * series))
        tail = 0.39894228 * jnp.exp(-0.5 * d * d) * series
        return jnp.where(d > 0, 1 - tail, tail)

    def prices(s, x, t, rate=0.02, volatility=0.3):
        spread = volatility * jnp.sqrt(t)
        d1 = (jnp.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
        call, put, discounted = normal(d1), normal(d1 - spread), x * jnp.exp(-rate * t)
        return s * call - discounted * put, discounted * (1 - put) - s * (1 - call)

    def pressure(p, b):
        return loop(0, steps, lambda i, p: relax(i, p, b), p)

    for form in ("", "_captured"):
        j.on_device("pressure" + form, pressure, *fields[:2])
        j.on_device("waves" + form, lambda *f: loop(0, steps, propagate, f), *fields)
        j.on_device("cavity" + form, lambda *f: loop(0, 10, flow, f), *[jnp.zeros((n, n))] * 3)
    j.on_device("bodies", attraction, j.random(0, 4096, 3), j.random(1, 4096))
    n = min(p.LARGE, 1 << 22)
    s, x, t = (low + j.random(k, n) for k, low in enumerate((5, 4, 1)))
    for item in ("options", "options_at_once"):
        j.on_device(item, prices, s, x, t)


def copies(j):
    """Up only: an array keeps what was once copied down."""
    import numpy

    gpu = j.jax.devices()[0]

    def to_device(host):
        j.last = j.jax.device_put(host, gpu)
        return j.last

    return items.Copies(
        pageable=lambda shape: numpy.random.default_rng(1).random(shape, dtype=numpy.float32),
        to_device=to_device,
    )


def measure():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    import jax

    if jax.default_backend() != "gpu":
        raise p.NotHere("no GPU for it")
    j = Jax(jax)
    first_use(j)
    items.transfers(j.peer, "jax", copies(j))
    x = elementwise(j)
    reductions(j, x)
    rows(j, x[0])
    del x
    programs(j)
    small_kernels(j)
    return j.peer


p.run("jax", measure)
