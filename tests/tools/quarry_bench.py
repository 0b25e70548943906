# SPDX-License-Identifier: BSD-3-Clause
"""Runs quarry-bench on the CPU device and fails unless what it says, its JSON and its page are
sound, and bad options are refused. Usage: quarry_bench.py <program>"""

import html.parser
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

VOID = {"meta", "br", "img", "input", "link", "hr"}
# A command line and what the refusal names: the option, and its value where there is one.
REFUSED = (
    ([], ("part",)),
    (["flying"], ("part", "flying")),
    (["transfers", "allocation"], ("allocation",)),
    (["transfers", "--fast"], ("--fast",)),
    (["transfers", "--max"], ("--max",)),
    (["transfers", "--max", "0"], ("--max", "'0'")),
    (["transfers", "--max", "1TiB"], ("--max", "'1TiB'")),
    (["transfers", "--max", "-1MiB"], ("--max", "'-1MiB'")),
    (["transfers", "--max", "1.5MiB"], ("--max", "'1.5MiB'")),
    (["transfers", "--max", "many"], ("--max", "'many'")),
    (["transfers", "--max", "99999999999999999999"], ("--max", "'99999999999999999999'")),
    (["transfers", "--device", "abacus"], ("--device", "abacus")),
    (["transfers", "--device", "cuda:99"], ("--device", "cuda:99")),
    (["allocation", "--json"], ("--json",)),
)


class Page(html.parser.HTMLParser):
    """Fails where elements are not closed in order, and where something outside is asked for."""

    def __init__(self):
        super().__init__()
        self.open, self.elements = [], []

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        for name, value in attributes:
            assert name not in ("src", "href", "srcset", "data", "action"), (tag, name, value)
            assert not re.search(r"//|url\(", value or ""), (tag, name, value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            assert not re.search(r"@import|url\(|//", data)


def run(program, *arguments):
    command = [program, *arguments]
    settings = {"capture_output": True, "errors": "replace", "timeout": 300, "check": False}
    return subprocess.run(command, **settings)


def check_page(text, plots):
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, f"left open: {page.open}"
    assert not {"script", "link", "img", "iframe"} & set(page.elements)
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) >= plots, f"{len(drawings)} plots"
    for drawing in drawings:
        root = xml.etree.ElementTree.fromstring(drawing)
        labels = ["".join(element.itertext()) for element in root.iter("text")]
        assert len(labels) > 4 and all(labels), labels
        assert "nan" not in drawing and "inf" not in drawing


def measured(program, folder, part, *options, stem="results"):
    """The rows of one run, whose files were checked."""
    files = {kind: folder / f"{stem}.{kind}" for kind in ("json", "html")}
    done = run(program, part, "--quick", "--json", files["json"], "--html", files["html"], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\r" not in done.stderr, "a progress bar without a terminal"
    document = json.loads(files["json"].read_text())
    for field in ("version", "device", "driver", "date", "command"):
        assert document[field], field
    assert document["part"] == part
    check_page(files["html"].read_text(errors="replace"), plots=5)
    assert all(math.isfinite(row["seconds"]) and row["seconds"] > 0 for row in document["rows"])
    return document, done.stdout


def check_transfers(program, folder):
    document, text = measured(program, folder, "transfers", "--max", "1MiB")
    assert all(rate > 0 for rate in document["link"].values())
    rows = document["rows"]
    assert max(row["bytes"] for row in rows) == 1 << 20
    for row in rows:
        if row["bytes"]:
            rate = row["bytes"] / row["seconds"]
            assert abs(row["bytes_per_second"] / rate - 1) < 1e-4, row
    assert {row["direction"] for row in rows} == {"H2D", "D2H", "D2D", ""}
    assert {row["memory"] for row in rows} == {"pageable", "device", ""}, "the CPU has no others"
    assert {"h[:, ::2]", "h.T", "h[:, :n/4]", "h[::2]"} <= {row["layout"] for row in rows}
    assert {row["streams"] for row in rows} == {0, 1, 2, 4}
    for word in ("time", "GB/s", "1 MiB", "h[:, ::2]"):
        assert word in text, word


def check_allocation(program, folder):
    odd = os.fsdecode(b'"\xff\n')  # a name that is not UTF-8, with what JSON has to escape
    document, text = measured(program, folder, "allocation", stem=odd)
    assert document["command"].endswith('/"\N{REPLACEMENT CHARACTER}\n.html')
    assert {row["resource"] for row in document["rows"]} == {"pool", "device", "nothing"}
    groups = {row["group"] for row in document["rows"]}
    assert groups == {"pair", "lifo", "fifo", "random", "holes", "streams", "threads", "handover"}
    assert "pool" in text


def check_options(program, folder):
    for arguments, words in REFUSED:
        done = run(program, *arguments)
        assert done.returncode == 2, (arguments, done.returncode)
        assert done.stderr.startswith("quarry-bench: ") and "usage:" in done.stderr, arguments
        reason = done.stderr.splitlines()[0]
        assert all(word in reason for word in words), (arguments, reason)
        assert not done.stdout, arguments
    helped = run(program, "--help")
    assert helped.returncode == 0 and "--json" in helped.stdout and not helped.stderr
    lost = run(program, "transfers", "--quick", "--html", folder / "no" / "such" / "folder")
    assert lost.returncode == 1 and "cannot write" in lost.stderr and not lost.stdout


def main(program):
    os.environ["QUARRY_DEVICE"] = "cpu"
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_options, check_transfers, check_allocation):
            check(program, Path(folder))
            print(check.__name__, "passed")


if __name__ == "__main__":
    main(sys.argv[1])
