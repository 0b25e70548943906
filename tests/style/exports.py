# SPDX-License-Identifier: BSD-3-Clause
"""Fails unless the shared library exports exactly what its public headers declare.

Usage: exports.py <nm> <library> <the same with every symbol> <include folder>...
"""

import re
import subprocess
import sys
from pathlib import Path

SKIPPED = re.compile(
    r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|//[^\n]*|/\*.*?\*/"
    r"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'",
    re.DOTALL | re.MULTILINE,
)
TOKEN = re.compile(r"operator\s*(?:\(\)|[^\w\s(]+)|[\w~]+|::|\S")
NAMESPACE = re.compile(r"\bnamespace ((?:\w+ :: )*\w+) $")
CLASS = re.compile(
    r"(?<![<,] )\b(?:class|struct|union) (?:\[ \[.*?\] \] )?((?:\w+ :: )*\w+) (?!\()"
)
OF_A_CLASS = re.compile(r"(?:typeinfo|typeinfo name|vtable|VTT) for ")
PREFIX = re.compile(r"(?:guard variable|(?:non-)?virtual thunk|TLS \w+ function) (?:for|to) ")
# A macro makes the names of kernels/vector_functions.hpp; the compiler those of their variants.
VECTOR_FUNCTION = re.compile(r"(?:_ZGV[b-e]N\d+v_)?quarry_[a-z]+")
# In the library where the C++ runtime is linked into it.
REPLACEABLE = re.compile(r"operator (?:new|delete)(?:\[\])?\(")
# In `operator+<char>` the bracket begins the arguments of the template.
OPERATOR = re.compile(r"\boperator(?:\(\)|<=>|<<=?|>>=?|->\*?|[<>]=?|[^\w\s(<>]+)")

# Of each kind one that has to be there or must not, so that nothing passes by being empty.
EXPORTED = {
    "quarry::Pool::trim()",
    "quarry::detail::writes_logged",
    "typeinfo for quarry::Error",
    "vtable for quarry::KernelFault",
    "quarry::kernels::program_for::value",  # of any kernel
}
HIDDEN = {
    "quarry::Pool::State::trim()",
    "quarry::memory::Tlsf::find(unsigned long, bool) const",
    "quarry::detail::refuse_forked()",
    "typeinfo for quarry::backend::Device",
}


def declared(text):
    """Classes with a body, and names at namespace scope, which may be functions or variables."""
    classes, names, scopes, head, parens = set(), set(), [], "", 0
    tokens = TOKEN.findall(SKIPPED.sub(" ", text))
    for token, following in zip(tokens, tokens[1:] + [""]):
        is_named = all(scopes)
        parens += (token == "(") - (token == ")")
        if parens or token == ")":
            continue
        if token == "{":
            named = NAMESPACE.search(head) or CLASS.search(head) if is_named else None
            scopes.append(named and named[1].replace(" ", ""))
            if named and named.re is CLASS:
                classes.add("::".join(scopes))
        elif token == "}":
            scopes.pop()
        elif is_named and "::".join(scopes) not in classes and following in list("({[;="):
            names.add("::".join([*scopes, token.replace(" ", "")]))
        if is_named:
            head = "" if token in "{};" else f"{head}{token} "
    return classes, names


def entity(symbol):
    """The name of what a demangled symbol belongs to, without arguments of any kind."""
    symbol = PREFIX.sub("", symbol).replace("[abi:cxx11]", "").replace("(anonymous namespace)", "-")
    operator = OPERATOR.search(symbol)
    if operator:
        symbol = symbol.replace(operator[0], "@", 1)
    while re.search(r"<[^<>]*>", symbol):
        symbol = re.sub(r"<[^<>]*>", "", symbol)
    return symbol.split("(")[0].split(" ")[-1].replace("@", operator[0] if operator else "@")


def is_declared(symbol, classes, names):
    of_a_class = OF_A_CLASS.match(symbol)
    if of_a_class:
        return entity(symbol[of_a_class.end() :]) in classes
    if VECTOR_FUNCTION.fullmatch(symbol) or REPLACEABLE.match(symbol):
        return True
    name = entity(symbol)
    return name in names or name.rpartition("::")[0] in classes


def symbols(nm, library):
    command = [nm, "-D", "-C", "--defined-only", library]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split(" ", 2)[2] for line in listed.splitlines()}


def main(nm, library, internal_library, folders):
    classes, names = set(), set()
    for folder in folders:
        for path in Path(folder).rglob("*.hpp"):
            found = declared(path.read_text(encoding="utf-8"))
            classes |= found[0]
            names |= found[1]
    exported, everything = symbols(nm, library), symbols(nm, internal_library)
    public = {symbol for symbol in everything if is_declared(symbol, classes, names)}
    complaints = [f"{s} is exported and in no public header" for s in sorted(exported - public)]
    complaints += [f"{s} is in a public header and not exported" for s in sorted(public - exported)]
    found = exported | set(map(entity, exported))
    complaints += [f"{s} has to be exported" for s in EXPORTED - found]
    complaints += [f"{s} has to be hidden" for s in HIDDEN & exported]
    complaints += [f"{s} is no symbol, hidden or not" for s in HIDDEN - everything]
    print(*complaints, f"{len(exported)} symbols, {len(complaints)} complaints", sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], sys.argv[4:]))
