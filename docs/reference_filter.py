# SPDX-License-Identifier: BSD-3-Clause
"""Prepares a header for Doxygen: reference_filter.py FILE writes it with a comment before every declaration.

In the headers one comment stands for the declarations that follow it up to the next empty line; here it is repeated
before each. What has the same meaning in every class (size(), begin(), special members) is documented in COMMON, once;
what its header need not explain, in reference_comments.txt. The rows of kernels/ops.def become the functions that they
declare. What is left without a comment, Doxygen reports.
"""

import re
import sys
from pathlib import Path

SPECIAL = "As C++ makes it."
# What a declaration means whichever class it is in: the first pattern that its text holds.
COMMON = [
    (r"= delete;", "Not possible."),
    (r"= default;", SPECIAL),
    (r"~\w+\(\)", "Gives up what the object holds; does not throw."),
    (r"\bvoid\* allocate\(", "As a MemoryResource: `bytes` in the order of `stream`; MemoryError where none are left."),
    (r"\bdeallocate\(", "As a MemoryResource: the block back, in the order of the stream; does not throw."),
    (r"\b(MemorySpace|Space) space\(", "Where the memory lies."),
    (r"\bDevice&? device\(", "The device that it belongs to."),
    (r"\bStream&? stream\(", "The stream in whose order it is used."),
    (r"\bstd::string name\(|\bname\(\) const", "A name for people."),
    (r"\b(int64_t|size_t|auto) size\(", "How many elements there are."),
    (r"\bsize\(\) const", "How many there are."),
    (r"\bndim\(", "How many axes there are."),
    (r"\bShape&? shape\(", "The extents of the axes."),
    (r"\bstrides\(\)", "Bytes from one element to the next, along each axis."),
    (r"\bDType dtype\(", "The type of the elements."),
    (r"\bdtype;", "The type of the elements."),
    (r"\bempty\(\) const", "Whether there is nothing."),
    (r"\bdata\(\)", "The address of the first element."),
    (r"\b(begin|end|cbegin|cend)\(\)", "For loops over the elements."),
    (r"operator(==|!=|<=>)", "Whether the two are the same."),
    (r"operator<<\(std::ostream", "Prints it as text."),
    (r"operator\[\]|operator\*\(\)|operator\+\+|operator->", "As of a pointer or a container."),
    (r"operator=\(", "Assigns as C++ does; shares what copies of the object share."),
    (r"using (value_type|iterator|reference|pointer|difference_type|size_type|iterator_\w+|propagate_\w+|is_always_equal)\b",
     "As the standard library asks for it."),
    (r"\bpropagate_on_container_|\bis_always_equal\b", "As the standard library asks for it."),
    (r"\bStream>? stream\b", "The stream to queue in; without one the current stream."),
    (r"\bDevice>? device\b", "The device; without one that of the stream, or the current one."),
    (r"\bOrder order\b", "The order of the elements in memory."),
    (r"\bbytes\b.*;", "A number of bytes."),
]
SEVERAL = re.compile(r"^(\s*)((?:static |constexpr |unsigned )*[\w:]+) (\w+(?: = [\w.]+)?(?:, \w+(?: = [\w.]+)?)+);$")
HEAD = re.compile(r"^\s*(inline )?(namespace|class|struct|enum|extern|union)\b[^;]*\{\s*$")
ROW = re.compile(r"^QUARRY_(UNARY|BINARY)\((\w+), (\w+)")


def table(root, path):
    """The functions of ops.def, as a header would declare them."""
    lines = []
    for line in (root / path).read_text().splitlines():
        row = ROW.match(line)
        if row:
            kind, name, domain = row.groups()
            more = ", const B& b" if kind == "BINARY" else ""
            types = "class A, class B" if more else "class A"
            lines += [f"/// NumPy's `{name}` of every element, lazily. Element types: domain `{domain}`; see docs/numerics.md.",
                      f"template <{types}> auto {name}(const A& a{more});"]
    return lines


def balance(line):
    text = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
    return text.count("{") + text.count("(") - text.count("}") - text.count(")")


def own_comments(header):
    """The rows of reference_comments.txt for one header."""
    comments, section = {}, None
    for line in (Path(__file__).resolve().parent / "reference_comments.txt").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == header and ": " in line:
            name, _, meaning = line.partition(": ")
            comments[name] = meaning
    return comments


def without_comment(text, own):
    """What is known of a declaration without a comment in its header, or None."""
    alias = re.match(r"^QUARRY_ALIAS\((\w+), (\w+)\)", text)
    if alias:
        return f"{alias[2]}() by NumPy's other name."
    symbol = re.match(r"^QUARRY_OPERATOR\((.*), (\w+)\)", text)
    if symbol:
        in_place = symbol[1].endswith("=") and symbol[1] not in ("==", "!=", "<=", ">=")
        return f"{symbol[2]}()" + (" in place, through a name or a view; the array keeps its type." if in_place else ".")
    code = re.sub(r"//.*", "", text)
    found = [name for name in own if re.search(r"(?<!\w)" + re.escape(name) + r"(?!\w)", code)]
    head = code.split("(")[0].split("{")[0].split("=")[0]
    found.sort(key=lambda name: (not re.search(re.escape(name) + r"\s*$", head.rstrip()), -len(name)))
    if found:
        return own[found[0]]
    return next((meaning for pattern, meaning in COMMON if re.search(pattern, text)), None)


def declaration(lines, at):
    """The index behind the declaration that begins at `at`."""
    depth, first = 0, at
    while at < len(lines):
        line = lines[at]
        depth += balance(line)
        at += 1
        code = re.sub(r"\s*//.*", "", line).rstrip()
        if HEAD.match(line) and depth > 0:
            return at
        if depth <= 0 and (code.endswith((";", "}")) or re.match(r"^\s*QUARRY_\w+\(.*\)$", code)):
            return at
        if at - first > 200:
            return at
    return at


def plain(line):
    text = line.strip()
    return (not text or text.startswith(("//", "#", "}", "public:", "private:", "protected:", "/*", "*"))
            or text.endswith("\\"))


def filtered(lines, own):
    out, comment, at = [], [], 0
    while at < len(lines):
        line = lines[at]
        text = line.strip()
        if text.startswith("#define"):
            while lines[at].rstrip().endswith("\\"):
                out.append(lines[at])
                at += 1
            out.append(lines[at])
            at += 1
            continue
        if text.startswith("///") and not text.startswith("///<"):
            comment = []
            while at < len(lines) and lines[at].strip().startswith("///"):
                comment.append(lines[at])
                at += 1
            out += comment
            fresh = True
            if at < len(lines) and not plain(lines[at]):
                end = declaration(lines, at)
                out += lines[at:end]
                if HEAD.match(lines[end - 1]) or any(HEAD.match(l) for l in lines[at:end]):
                    comment = []
                at = end
            continue
        if plain(line):
            if not text or text.startswith(("#", "}", "private:", "protected:", "public:")):
                comment = []
            out.append(line.replace("protected:", "private:"))
            at += 1
            continue
        end = declaration(lines, at)
        body = lines[at:end]
        whole = " ".join(body)
        is_head = any(HEAD.match(l) for l in body)
        if "///<" not in whole and not (is_head and re.search(r"\b(namespace|extern)\b", whole)):
            meaning = without_comment(whole, own)
            if comment and not is_head:
                out += comment
            elif meaning:
                out.append(f"/// {meaning}")
        if is_head:
            comment = []
        out += body
        at = end
    return out


def one_each(line):
    """`int a = 0, b;` as one declaration for each name."""
    several = SEVERAL.match(line)
    if not several:
        return [line]
    indent, type_name, names = several.groups()
    return [f"{indent}{type_name} {name};" for name in names.split(", ")]


def main():
    path = Path(sys.argv[1])
    root = Path(__file__).resolve().parent.parent
    lines = []
    for line in path.read_text().splitlines():
        if line.strip() == "#include <quarry/kernels/ops.def>":
            lines += table(root, "include/quarry/kernels/ops.def")
        else:
            lines += one_each(line)
    header = str(path.resolve().relative_to(root / "include/quarry"))
    print("\n".join(filtered(lines, own_comments(header))))


main()
