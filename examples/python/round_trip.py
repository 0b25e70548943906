# SPDX-License-Identifier: BSD-3-Clause
"""Passes arrays between Quarry and every library that is here, both ways, without a copy."""

import importlib
import sys

import numpy as np
import quarry_arrays as qy


def check(ok, what):
    print(("ok      " if ok else "FAILED  ") + what)
    return ok


def pointer_of(array):
    for name in ("data_ptr", "unsafe_buffer_pointer"):
        if hasattr(array, name):
            return getattr(array, name)()
    return array.data.ptr if hasattr(array.data, "ptr") else array.__array_interface__["data"][0]


def refuses(action):
    try:
        action()
    except Exception as error:
        print(f"        {type(error).__name__}: {error}")
        return True
    return False


def numpy_arrays():
    """On the CPU device, or beside a GPU: host memory stays host memory."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4)[::-1, 1::2]
    seen = qy.from_dlpack(array)
    ok = check(seen.pointer == pointer_of(array), "numpy: the same memory")
    qy.scale(seen, 2)
    again = np.from_dlpack(seen)
    same = again[0, 0] == 18 and again.strides == array.strides
    ok &= check(array[0, 0] == 18 and same, "numpy: both ways")
    frozen = np.arange(3, dtype=np.float32)
    frozen.flags.writeable = False
    is_refused = refuses(lambda: qy.scale(qy.from_dlpack(frozen), 2))
    return ok & check(is_refused, "numpy: read-only stays read-only")


def gpu_arrays(name, make, read, writes=True):
    library = importlib.import_module(name)
    array = make(library)
    before = float(read(array)[1, 1])
    seen = qy.from_dlpack(array)
    ok = check(seen.pointer == pointer_of(array), f"{name}: the same memory")
    if writes:
        qy.scale(seen, 3)
        ok &= check(float(read(array)[1, 1]) == 3 * before, f"{name}: sees what Quarry wrote")
    ours = qy.arange(6)
    theirs = (library.dlpack if name == "jax" else library).from_dlpack(ours)
    ok &= check(pointer_of(theirs) == ours.pointer, f"{name}: sees Quarry's memory")
    del ours
    ok &= check(list(read(theirs)) == [0, 1, 2, 3, 4, 5], f"{name}: which it keeps alive")
    return ok


def main():
    ok = numpy_arrays()
    print("Quarry computes on", qy.device())
    clients = {
        "cupy": (lambda c: c.arange(12, dtype="f4").reshape(3, 4)[:, 1::2], lambda a: a.get()),
        "torch": (lambda t: t.arange(12.0, device="cuda").reshape(3, 4).T[:, 1:],
                  lambda a: a.cpu().numpy()),
        "jax": (lambda j: j.numpy.arange(12, dtype="f4").reshape(3, 4) + 1, np.asarray),
    }
    for name, (make, read) in clients.items():
        if qy.device() == "cpu" or not importlib.util.find_spec(name):
            print("skipped", name)
            continue
        ok &= gpu_arrays(name, make, read, writes=name != "jax")
    sys.exit(not ok)


if __name__ == "__main__":
    main()
