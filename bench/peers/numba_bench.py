# SPDX-License-Identifier: BSD-3-Clause
"""The work items in Numba that it has: copies and allocation. Usage: numba_bench.py RESULT.json"""

import items
import peer as p


def copies(cuda):
    import numpy

    def pageable(shape):
        return numpy.random.default_rng(1).random(shape, dtype=numpy.float32)

    def pinned(shape):
        host = cuda.pinned_array(shape, dtype=numpy.float32)
        host[...] = pageable(shape)
        return host

    return items.Copies(
        pageable=pageable,
        pinned=pinned,
        device=lambda shape: cuda.device_array(shape, numpy.float32),
        to_device=cuda.to_device,
        up=lambda device, host: device.copy_to_device(host),
        down=lambda host, device: device.copy_to_host(host),
        down_into=lambda host, device: device.copy_to_host(host),
    )


def measure():
    from numba import cuda

    try:
        context = cuda.current_context()
    except Exception as reason:
        raise p.NotHere(reason) from None

    def device_timer(work):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)

    peer = p.Peer(device_timer, cuda.synchronize)
    items.transfers(peer, "numba", copies(cuda))
    peer.issue("numba", "allocate_free", lambda: cuda.device_array(256, "f4"))
    items.allocation(
        peer, "numba", context.memalloc, lambda block: None, count=50, with_holes=False
    )
    return peer


p.run("numba", measure)
