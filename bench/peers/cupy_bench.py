# SPDX-License-Identifier: BSD-3-Clause
"""The work items in CuPy. Usage: cupy_bench.py RESULT.json"""

import os
import tempfile
import types

import items
import peer as p


def first_use(peer, cp):
    a, b = (cp.random.rand(p.SMALL, dtype=cp.float32) for _ in range(2))
    peer.synchronize()
    peer.once("cupy", "first_kernel", lambda: a * b + cp.sin(a) * 2 - b)
    peer.once("cupy", "further_kernel", lambda: cp.sqrt(a) + cp.exp(b) * a)
    c = cp.empty_like(a)
    peer.issue("cupy", "launch_add", lambda: a + b)
    peer.issue("cupy", "launch_add_into", lambda: cp.add(a, b, out=c))
    peer.issue("cupy", "allocate_free", lambda: cp.empty(256, cp.float32))
    mask, v = a > 0.5, cp.zeros((64, 48, 32), cp.float32)
    peer.issue("cupy", "read_by_mask", lambda: a[mask])
    peer.issue("cupy", "item_of_sum", lambda: a.sum().item())
    peer.issue("cupy", "view_part", lambda: v[1:9, 1:9, 1:9])
    peer.issue("cupy", "view_reshape", lambda: v.reshape(64 * 48, 32))
    peer.issue("cupy", "view_transpose", lambda: v.transpose(2, 0, 1))
    peer.issue("cupy", "view_moveaxis", lambda: cp.moveaxis(v, 0, -1))
    peer.issue("cupy", "view_diagonal", lambda: v.diagonal())


def elementwise(peer, cp):
    x = [cp.random.rand(p.LARGE, dtype=cp.float32) for _ in range(4)]
    out, m = cp.empty_like(x[0]), x[0].reshape(p.SIDE, p.SIDE)
    column, line = x[0][: p.SIDE].reshape(-1, 1), x[1][: p.SIDE].reshape(1, -1)
    @cp.fuse()
    def fused(a, b, c, d):
        return a * b + cp.sin(c) * 2 - d

    peer.on_device("cupy", "add", lambda: cp.add(x[0], x[1], out=out))
    peer.on_device("cupy", "fused", lambda: x[0] * x[1] + cp.sin(x[2]) * 2 - x[3])
    peer.on_device("cupy.fuse", "fused", lambda: fused(*x))
    peer.on_device("cupy", "where", lambda: cp.where(x[0] > 0.5, x[1], x[2]))
    peer.on_device("cupy", "broadcast", lambda: column + line)
    peer.on_device("cupy", "strided_copy", lambda: m[::2, ::3].copy())
    peer.on_device("cupy", "transpose_copy", lambda: cp.ascontiguousarray(m.T))
    permuted = x[0].reshape(p.permuted_shape()).transpose(2, 0, 1)
    peer.on_device("cupy", "permute_copy", lambda: cp.ascontiguousarray(permuted))
    h = [v.astype(cp.float16) for v in x[:2]]
    peer.on_device("cupy", "add_f16", lambda: cp.add(h[0], h[1]))
    d = [v.astype(cp.float64) for v in x]
    peer.on_device("cupy", "add_f64", lambda: cp.add(d[0], d[1]))
    peer.on_device("cupy.fuse", "fused_f64", lambda: fused(*d))
    return x


def reductions(peer, cp, x):
    m, tall = x[0].reshape(p.SIDE, p.SIDE), x[0].reshape(-1, 64)
    peer.on_device("cupy", "sum", lambda: x[0].sum())
    peer.on_device("cupy", "max", lambda: x[0].max())
    peer.on_device("cupy", "argmax", lambda: x[0].argmax())
    peer.on_device("cupy", "mean", lambda: x[0].mean())
    for axis in (0, 1):
        peer.on_device("cupy", f"sum_axis{axis}", lambda axis=axis: m.sum(axis=axis))
        peer.on_device("cupy", f"sum_tall_axis{axis}", lambda axis=axis: tall.sum(axis=axis))
    peer.on_device("cupy", "sum_squares", lambda: ((x[0] - x[1]) ** 2).sum())
    squares = cp.ReductionKernel(
        "T a, T b", "T s", "(a - b) * (a - b)", "a + b", "s = a", "0", "squares"
    )
    peer.on_device("cupy.fuse", "sum_squares", lambda: squares(x[0], x[1]))


def rows(peer, cp, x):
    from cupyx.scipy import special

    m = x.reshape(-1, p.ROW)
    peer.on_device("cupy", "softmax", lambda: special.softmax(m, axis=1))
    peer.on_device("cupy", "softmax_axis0", lambda: special.softmax(m, axis=0))
    peer.on_device("cupy", "log_softmax", lambda: special.log_softmax(m, axis=1))
    peer.on_device(
        "cupy",
        "standardise",
        lambda: (m - m.mean(axis=1, keepdims=True)) / m.std(axis=1, keepdims=True),
    )
    peer.on_device("cupy", "logsumexp", lambda: special.logsumexp(m, axis=1))
    peer.on_device("cupy", "var_rows", lambda: m.var(axis=1))


def programs(peer, cp):
    plates = [cp.random.rand(p.SIDE // 4, p.SIDE // 4, dtype=cp.float32) for _ in range(2)]

    def in_place():
        u = plates[0]
        for _ in range(p.STEPS):
            u[1:-1, 1:-1] = p.average(u)

    def two_buffers():
        u, v = plates
        for _ in range(p.STEPS):
            v[1:-1, 1:-1] = p.average(u)
            u, v = v, u

    peer.on_device("cupy", "heat_in_place", in_place)
    peer.on_device("cupy", "heat_two_buffers", two_buffers)
    z = cp.asarray(p.terrain())
    functions = types.SimpleNamespace(
        atan=cp.arctan,
        atan2=cp.arctan2,
        hypot=cp.hypot,
        cos=cp.cos,
        sin=cp.sin,
        positive=lambda x: cp.maximum(x, 0),
    )
    peer.on_device("cupy", "hillshade", lambda: p.relief(functions, z))


def copies(cp):
    import cupyx
    import numpy

    def pageable(shape):
        return numpy.random.default_rng(1).random(shape, dtype=numpy.float32)

    def pinned(shape):
        host = cupyx.empty_pinned(shape, dtype=numpy.float32)
        host[...] = pageable(shape)
        return host

    return items.Copies(
        pageable=pageable,
        pinned=pinned,
        device=lambda shape: cp.empty(shape, cp.float32),
        to_device=lambda host: cp.ascontiguousarray(cp.asarray(host)),
        up=lambda device, host: device.set(host),
        down=lambda host, device: cp.ascontiguousarray(device).get(out=host),
    )


def allocation(peer, cp):
    """Its pool, and its pool of the driver's; a block ends with its last reference."""
    pools = (("cupy", cp.cuda.MemoryPool()), ("cupy.async", cp.cuda.MemoryAsyncPool()))
    for who, pool in pools:
        items.allocation(peer, who, pool.malloc, lambda block: None)


def measure():
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CUPY_CACHE_DIR"] = cache
        import cupy as cp

        try:
            cp.zeros(1)
        except Exception as reason:
            raise p.NotHere(reason) from None

        def device_timer(work):
            begin, end = cp.cuda.Event(), cp.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            return 1e-3 * cp.cuda.get_elapsed_time(begin, end)

        peer = p.Peer(device_timer, cp.cuda.Device().synchronize)
        first_use(peer, cp)
        items.transfers(peer, "cupy", copies(cp))
        allocation(peer, cp)
        x = elementwise(peer, cp)
        reductions(peer, cp, x)
        rows(peer, cp, x[0])
        del x
        programs(peer, cp)
        return peer


p.run("cupy", measure)
