# SPDX-License-Identifier: BSD-3-Clause
"""Fails on an include that points upward or in a circle, between layers or between the rooms of
memory or of the CUDA backend, on a CUDA header out of its rooms, and on a kernel of GPUs in what
plain C++ compiles.

Usage: layers.py <project root>
"""

import re
import sys
from pathlib import Path

LAYERS = ["base", "kernels", "backend", "runtime", "memory", "array", "expr", "ops"]  # lowest first
# Of src/memory, lowest first; "memory" is what lies in none.
MEMORY_ROOMS = ["resource", "adaptors", "pool", "memory", "host", "raw", "staged", "transfer"]
# Of src/backend/cuda, lowest first; "cuda" is what lies in none.
CUDA_ROOMS = ["driver", "ptx", "jit", "cuda", "launch"]
HEADERS_ALONE = {"adaptor": "adaptors"}  # public headers of memory without a source of their name
CUDA_HEADER_ROOMS = (
    "src/backend/cuda/",
    "tests/fake_driver/",
    "tests/kernels/nvrtc_compile.cpp",
    "tools/operation_ptx.cpp",
    "include/quarry/cuda_mr.hpp",
    "include/quarry/device_view.cuh",
    "include/quarry/mdspan.hpp",
    "tests/interop/cuda_mr_test.cpp",
    "tests/interop/device_view.cu",
    "kernels/",
)
CUDA_HEADER = re.compile(
    r"(cuda|nvrtc|nvml|nvJitLink|nvToolsExt|device_launch_parameters|vector_types)\.h$"
    r"|(cuda_|cublas|cufft|curand|cusolver|cusparse|nvtx3/|nccl).*"
    r"|(cub|thrust|cuda|cooperative_groups)/.*"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".hpp", ".cpp", ".def", ".cu", ".cuh", ".h"}


def files(root, *folders):
    """The C++ files under the folders, by their path from the root."""
    found = (path for folder in folders for path in (root / folder).rglob("*"))
    return sorted(str(path.relative_to(root)) for path in found if path.suffix in SUFFIXES)


def layer(path):
    """The index of a file's layer; what is in no layer is on top."""
    parts = path.split("/")
    room = parts[{"include": 2, "src": 1}.get(parts[0], 0)]
    return LAYERS.index(room) if room in LAYERS else len(LAYERS)


def memory_rooms(root):
    """The room of each stem in src/memory; a public header is in that of its source."""
    rooms = dict(HEADERS_ALONE)
    for path in sorted((root / "src/memory").rglob("*.?pp")):
        rooms[path.stem] = path.parent.name
    return rooms


def height(path, rooms):
    """Where a file is: its layer, and its room within memory or the CUDA backend."""
    room = 0
    if LAYERS[layer(path):layer(path) + 1] == ["memory"]:
        room = MEMORY_ROOMS.index(rooms[Path(path).stem])
    elif path.startswith("src/backend/cuda/"):  # above all else of the backend
        room = CUDA_ROOMS.index(Path(path).parent.name) + 1
    return layer(path), room


def resolve(root, path, quoted, name):
    """The project's file that an include in `path` names, or None for somebody else's header."""
    near = [str(Path(path).parent / name)] if quoted else []
    for candidate in [*near, f"include/{name}", f"src/{name}", name]:
        if (root / candidate).is_file():
            return candidate
    return None


def cycle(graph):
    """A list of files that include one another in a circle, or None."""
    finished, trail = set(), []

    def walk(node):
        if node in trail:
            return trail[trail.index(node):] + [node]
        if node in finished:
            return None
        trail.append(node)
        found = next(filter(None, map(walk, graph.get(node, []))), None)
        trail.pop()
        finished.add(node)
        return found

    return next(filter(None, map(walk, graph)), None)


def main(root):
    complaints, graph, rooms = [], {}, memory_rooms(root)
    for path in files(root, "include", "src", "kernels"):
        includes = INCLUDE.findall((root / path).read_text())
        targets = (resolve(root, path, quote == '"', name) for quote, name in includes)
        graph[path] = [target for target in targets if target]
        complaints += [
            f"{path} includes {target}, which is above it"
            for target in graph[path]
            if height(target, rooms) > height(path, rooms)
        ]
        if not path.startswith("kernels/"):
            complaints += [
                f"{path} includes {target}: a kernel of GPUs"
                for target in graph[path]
                if target.startswith("kernels/")
            ]
    for path in files(root, "include", "src", "tools", "tests", "examples", "bench"):
        if not path.startswith(CUDA_HEADER_ROOMS):
            names = [name for _, name in INCLUDE.findall((root / path).read_text())]
            complaints += [
                f"{path} includes {n}: a CUDA header" for n in names if CUDA_HEADER.match(n)
            ]
    circle = cycle(graph)
    if circle:
        complaints.append("include cycle: " + " -> ".join(circle))
    print(*complaints, f"{len(graph)} files, {len(complaints)} complaints", sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
