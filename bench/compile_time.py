# SPDX-License-Identifier: BSD-3-Clause
"""How long the compiler takes for a user's file. Usage: compile_time.py BUILD_FOLDER RESULT.json"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compile_seconds(command):
    """Processor time: what it takes on a machine that does nothing else."""
    start = processor_seconds()
    subprocess.run(command, check=True)
    return processor_seconds() - start


def main(build, result):
    compiler = os.environ.get("CXX", "g++")
    command = [
        compiler,
        "-std=c++20",
        "-O2",
        f"-I{root}/include",
        f"-I{build}/include",
        "-c",
        f"{root}/bench/user/five_expressions.cpp",
        "-o",
        os.devnull,
    ]
    variants = {"user_file": [], "user_file_xtensor": ["-include", "quarry/xtensor.hpp"]}
    records = []
    for item, extra in variants.items():
        try:
            seconds = statistics.median(compile_seconds(command + extra) for _ in range(3))
        except (OSError, subprocess.CalledProcessError) as error:
            records.append({"who": "quarry", "item": item, "error": str(error)})
            continue
        records.append(
            {"who": "quarry", "item": item, "seconds": seconds, "size": f"{compiler} -O2"}
        )
        print(f"{item:20} {seconds:6.2f} s")
    pathlib.Path(result).write_text(json.dumps({"records": records}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:3])
