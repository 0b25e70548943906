# SPDX-License-Identifier: BSD-3-Clause
"""Runs quarry-info and fails unless its text and its JSON say the same
and bad options are refused. Usage: quarry_info.py <program>"""

import json
import os
import subprocess
import sys

FIELDS = (
    "version",
    "built_with_cuda",
    "available",
    "why",
    "cuda_error",
    "driver",
    "nvrtc",
    "default_device",
    "cache",
    "devices",
)
REFUSED = (["--fast"], ["now"], ["--json", "now"], ["--json=maybe"])


def run(program, *arguments, **environment):
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


def check_json(program):
    code, text, errors = run(program, "--json", QUARRY_DEVICE="cpu")
    assert (code, errors) == (0, "")
    document = json.loads(text)
    assert tuple(document) == FIELDS
    assert set(document["cache"]) == {"path", "bytes", "entries"}
    assert document["default_device"] == "cpu"
    assert document["available"] == (document["why"] == "")
    cpu = document["devices"][0]
    assert cpu["device"] == "cpu" and cpu["compute_capability"] == "0.0"
    assert 0 < cpu["memory_free"] <= cpu["memory_total"]
    assert cpu["attributes"]["MULTIPROCESSOR_COUNT"] > 0

    code, text, errors = run(program, QUARRY_DEVICE="cpu")
    assert (code, errors) == (0, "")
    for word in (document["version"], document["why"], cpu["name"], document["cache"]["path"]):
        assert word in text, word


def check_default_device(program):
    """A device that cannot be had is told, in quotes that JSON has to escape."""
    code, text, errors = run(program, "--json", QUARRY_DEVICE="cuda:99")
    assert (code, errors) == (0, "")
    assert 'QUARRY_DEVICE asks for "cuda:99"' in json.loads(text)["default_device"]


def check_options(program):
    for arguments in REFUSED:
        code, text, errors = run(program, *arguments)
        assert (code, text) == (2, ""), (arguments, code, text)
        assert errors.startswith("quarry-info: ") and "usage:" in errors, arguments
        assert arguments[-1].split("=")[-1] in errors.splitlines()[0], (arguments, errors)
    code, text, errors = run(program, "--help")
    assert (code, errors) == (0, "") and "--json" in text


def main(program):
    for check in (check_json, check_default_device, check_options):
        check(program)
        print(check.__name__, "passed")


if __name__ == "__main__":
    main(sys.argv[1])
