# SPDX-License-Identifier: BSD-3-Clause
# awk -f exports.awk <public header>... <symbols> <demangled symbols>
# Prints a version script: of the library's symbols, which nm has listed twice in one order, those that the public headers
# declare are global. A class is declared where its body is, and all its members with it; a function or a variable, where
# its name stands in its namespace. operator new and delete, which the library has where the C++ runtime is linked into it,
# are global too, so that those of the program replace them.

# --- the headers: namespaces and classes are scopes with a name, other braces are skipped ------------

# `operator<` and the like without brackets, which are taken for those of templates and arguments.
function operator_word(text) {
  gsub(/</, "L", text); gsub(/>/, "G", text); gsub(/\(/, "P", text); gsub(/\)/, "Q", text)
  return text
}
function joined(scope, name) { return scope == "" ? name : scope "::" name }

# The name of the class whose body begins after the words, or "".
function class_name(words,    n, word, i, name) {
  n = split(words, word, " ")
  for (i = 1; i < n; i++) {
    if (word[i] !~ /^(class|struct|union|enum)$/ || word[i - 1] ~ /^[<,]$/ || word[i + 1] == "class") continue
    for (i++; word[i] ~ /^[][]$/; i++)  # attributes
      if (word[i] == "[") while (word[i + 1] ~ /^[^][]/) i++
    for (name = word[i]; word[i + 1] == "::"; i += 2) name = name "::" word[i + 2]
    return name
  }
  return ""
}
function open_brace(    name) {
  scopes[++depth] = "-"
  if (depth == 1 || scopes[depth - 1] != "-") {
    if (match(head, /namespace [A-Za-z_:0-9 ]+$/)) {
      name = substr(head, RSTART + 10)
      gsub(/ /, "", name)
      scopes[depth] = joined(scopes[depth - 1], name)
      kinds[depth] = "namespace"
    } else if (class_name(head) != "") {
      scopes[depth] = joined(scopes[depth - 1], class_name(head))
      kinds[depth] = "class"
      classes[scopes[depth]]
    }
  }
  if (scopes[depth] != "-") head = ""
}
function close_brace() {
  if (scopes[depth--] != "-" || depth == 0 || scopes[depth] != "-") head = ""
}
function token(word, following) {
  if (word == "(") parens++
  if (parens == 0 && word == "{") open_brace()
  else if (parens == 0 && word == "}") close_brace()
  else if (depth == 0 || scopes[depth] != "-") {
    if (parens == 0 && kinds[depth] == "namespace" && word ~ /^[A-Za-z_]/ && following ~ /^[(;={\[]/ &&
        head !~ /(class|struct|union|enum) $/)
      names[joined(scopes[depth], word)]
    if (parens == 0) head = word == ";" ? "" : head word " "
  }
  if (word == ")") parens--
}
function scan(line,    word) {
  gsub(/"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/, " ", line)
  sub(/\/\/.*/, "", line)
  while (match(line, /operator *(\(\)|[^A-Za-z_0-9 (]+)|[A-Za-z_0-9~]+|::|[^ \t]/)) {
    word = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    sub(/^ +/, "", line)
    token(word ~ /^operator./ && word !~ /^operator[A-Za-z_0-9]/ ? operator_word(word) : word, line)
  }
}
FILENAME ~ /\.hpp$/ {
  if (FNR == 1) { depth = parens = 0; head = "" }
  is_directive = is_directive ? continued : $0 ~ /^[ \t]*#/
  continued = $0 ~ /\\$/
  if (!is_directive) scan($0)
  is_directive = is_directive && continued
  next
}

# --- the symbols ------------------------------------------------------------------------------------

# The name of what a symbol belongs to, without the arguments of templates and functions.
function entity(name,    part) {
  gsub(/\[abi:[a-z0-9]*\]/, "", name)
  gsub(/\(anonymous namespace\)/, "-", name)
  sub(/^(guard variable|(non-)?virtual thunk|TLS (init|wrapper) function) (for|to) /, "", name)
  if (match(name, /::operator(\(\)|[^A-Za-z_0-9 (]+)/)) {
    part = substr(name, RSTART, RLENGTH)
    name = substr(name, 1, RSTART - 1) operator_word(part) substr(name, RSTART + RLENGTH)
  }
  while (match(name, /<[^<>]*>/)) name = substr(name, 1, RSTART - 1) substr(name, RSTART + RLENGTH)
  sub(/\(.*/, "", name)
  sub(/.* /, "", name)
  return name
}
# The functions of kernels/vector_functions.hpp, whose names a macro makes, and their variants in the vector ABI.
function is_vector_function(name) { return name ~ /^(_ZGV[b-e]N[0-9]+v_)?quarry_[a-z]+$/ }

function is_public(name,    scope) {
  if (is_vector_function(name)) return 1
  if (sub(/^(typeinfo|typeinfo name|vtable|VTT) for /, "", name)) return entity(name) in classes
  scope = name = entity(name)
  sub(/::[^:]*$/, "", scope)
  return (scope in classes) || (name in names)
}

{ sub(/^[0-9a-f]+ [A-Za-z] /, "") }
FNR == 1 { lists++ }
lists == 1 { symbols[FNR] = $0 }
lists == 2 && is_public($0) { exports = exports "    " symbols[FNR] ";\n" }
END {
  if (exports == "") { print "no symbol is declared in a public header" > "/dev/stderr"; exit 1 }
  printf "{\n  global:\n%s    _Zn[aw]*;\n    _Zd[al]*;\n  local: *;\n};\n", exports
}
