# SPDX-License-Identifier: BSD-3-Clause
"""The work items in PyTorch, eager and compiled. Usage: torch_bench.py RESULT.json"""

import os
import tempfile
import types

import items
import peer as p


def expression(torch, a, b, c, d):
    return a * b + torch.sin(c) * 2 - d


def first_use(peer, torch):
    a, b = (torch.rand(p.SMALL, device="cuda") for _ in range(2))
    peer.synchronize()
    compiled = torch.compile(lambda a, b: expression(torch, a, b, a, b))
    further = torch.compile(lambda a, b: torch.sqrt(a) + torch.exp(b) * a)
    peer.once("torch", "first_kernel", lambda: expression(torch, a, b, a, b))
    peer.once("torch", "further_kernel", lambda: torch.sqrt(a) + torch.exp(b) * a)
    peer.once("torch.compile", "first_kernel", lambda: compiled(a, b))
    peer.once("torch.compile", "further_kernel", lambda: further(a, b))
    c = torch.empty_like(a)
    peer.issue("torch", "launch_add", lambda: a + b)
    peer.issue("torch", "launch_add_into", lambda: torch.add(a, b, out=c))
    peer.issue("torch", "allocate_free", lambda: torch.empty(256, device="cuda"))
    mask, v = a > 0.5, torch.zeros((64, 48, 32), device="cuda")
    peer.issue("torch", "read_by_mask", lambda: a[mask])
    peer.issue("torch", "item_of_sum", lambda: a.sum().item())
    peer.issue("torch", "view_part", lambda: v[1:9, 1:9, 1:9])
    peer.issue("torch", "view_reshape", lambda: v.reshape(64 * 48, 32))
    peer.issue("torch", "view_transpose", lambda: v.permute(2, 0, 1))
    peer.issue("torch", "view_moveaxis", lambda: v.movedim(0, -1))
    peer.issue("torch", "view_diagonal", lambda: v.diagonal())


def elementwise(peer, torch):
    x = [torch.rand(p.LARGE, device="cuda") for _ in range(4)]
    out, m = torch.empty_like(x[0]), x[0].reshape(p.SIDE, p.SIDE)
    column, line = x[0][: p.SIDE].reshape(-1, 1), x[1][: p.SIDE].reshape(1, -1)
    fused = torch.compile(lambda a, b, c, d: expression(torch, a, b, c, d))
    where = torch.compile(lambda a, b, c: torch.where(a > 0.5, b, c))
    peer.on_device("torch", "add", lambda: torch.add(x[0], x[1], out=out))
    peer.on_device("torch", "fused", lambda: expression(torch, *x))
    peer.on_device("torch.compile", "fused", lambda: fused(*x))
    peer.on_device("torch", "where", lambda: torch.where(x[0] > 0.5, x[1], x[2]))
    peer.on_device("torch.compile", "where", lambda: where(*x[:3]))
    peer.on_device("torch", "broadcast", lambda: column + line)
    peer.on_device("torch", "strided_copy", lambda: m[::2, ::3].contiguous())
    peer.on_device("torch", "transpose_copy", lambda: m.T.contiguous())
    permuted = x[0].reshape(p.permuted_shape()).permute(2, 0, 1)
    peer.on_device("torch", "permute_copy", permuted.contiguous)
    h = [v.half() for v in x[:2]]
    peer.on_device("torch", "add_f16", lambda: h[0] + h[1])
    d = [v.double() for v in x]
    peer.on_device("torch", "add_f64", lambda: d[0] + d[1])
    peer.on_device("torch", "fused_f64", lambda: expression(torch, *d))
    return x


def reductions(peer, torch, x):
    m, tall = x[0].reshape(p.SIDE, p.SIDE), x[0].reshape(-1, 64)
    squares = torch.compile(lambda a, b: ((a - b) * (a - b)).sum())
    peer.on_device("torch", "sum", lambda: x[0].sum())
    peer.on_device("torch", "max", lambda: x[0].max())
    peer.on_device("torch", "argmax", lambda: x[0].argmax())
    peer.on_device("torch", "mean", lambda: x[0].mean())
    for axis in (0, 1):
        peer.on_device("torch", f"sum_axis{axis}", lambda axis=axis: m.sum(dim=axis))
        peer.on_device("torch", f"sum_tall_axis{axis}", lambda axis=axis: tall.sum(dim=axis))
    peer.on_device("torch", "sum_squares", lambda: ((x[0] - x[1]) * (x[0] - x[1])).sum())
    peer.on_device("torch.compile", "sum_squares", lambda: squares(x[0], x[1]))


def rows(peer, torch, x):
    m = x.reshape(-1, p.ROW)

    def standardise(m):
        return (m - m.mean(1, keepdim=True)) / m.std(1, correction=0, keepdim=True)

    fused = torch.compile(standardise)
    peer.on_device("torch", "softmax", lambda: torch.softmax(m, 1))
    peer.on_device("torch", "softmax_axis0", lambda: torch.softmax(m, 0))
    peer.on_device("torch", "log_softmax", lambda: torch.log_softmax(m, 1))
    peer.on_device("torch", "standardise", lambda: standardise(m))
    peer.on_device("torch.compile", "standardise", lambda: fused(m))
    peer.on_device("torch", "logsumexp", lambda: torch.logsumexp(m, 1))
    peer.on_device("torch", "var_rows", lambda: m.var(1, correction=0))


def programs(peer, torch):
    plates = [torch.rand(p.SIDE // 4, p.SIDE // 4, device="cuda") for _ in range(2)]

    def step(v, u):
        v[1:-1, 1:-1] = p.average(u)

    def in_place(step):
        for _ in range(p.STEPS):
            step(plates[0], plates[0])

    def two_buffers(step):
        u, v = plates
        for _ in range(p.STEPS):
            step(v, u)
            u, v = v, u

    compiled = torch.compile(step)
    peer.on_device("torch", "heat_in_place", lambda: in_place(step))
    peer.on_device("torch", "heat_two_buffers", lambda: two_buffers(step))
    peer.on_device("torch.compile", "heat_in_place", lambda: in_place(compiled))
    peer.on_device("torch.compile", "heat_two_buffers", lambda: two_buffers(compiled))
    z = torch.from_numpy(p.terrain()).cuda()
    functions = types.SimpleNamespace(
        atan=torch.atan,
        atan2=torch.atan2,
        hypot=torch.hypot,
        cos=torch.cos,
        sin=torch.sin,
        positive=lambda x: x.clamp(min=0),
    )
    relief = torch.compile(lambda z: p.relief(functions, z))
    peer.on_device("torch", "hillshade", lambda: p.relief(functions, z))
    peer.on_device("torch.compile", "hillshade", lambda: relief(z))


def copies(torch):
    return items.Copies(
        pageable=lambda shape: torch.rand(shape),
        pinned=lambda shape: torch.rand(shape).pin_memory(),
        device=lambda shape: torch.empty(shape, device="cuda"),
        to_device=lambda host: host.to("cuda", non_blocking=True).contiguous(),
        up=lambda device, host: device.copy_(host, non_blocking=True),
        down=lambda host, device: host.copy_(device, non_blocking=True),
        down_into=lambda host, device: host.copy_(device),
    )


def allocation(peer, torch):
    """Its caching allocator, without tensors around the blocks."""
    allocate, free = torch.cuda.caching_allocator_alloc, torch.cuda.caching_allocator_delete
    items.allocation(peer, "torch", allocate, free)


def measure():
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = cache
        import torch

        if not torch.cuda.is_available():
            raise p.NotHere("no GPU for it")
        torch.zeros(1, device="cuda")

        def device_timer(work):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            end.synchronize()
            return 1e-3 * begin.elapsed_time(end)

        peer = p.Peer(device_timer, torch.cuda.synchronize)
        first_use(peer, torch)
        items.transfers(peer, "torch", copies(torch))
        allocation(peer, torch)
        x = elementwise(peer, torch)
        reductions(peer, torch, x)
        rows(peer, torch, x[0])
        del x
        programs(peer, torch)
        return peer


p.run("torch", measure)
