// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/kernel_cache.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/cuda/jit/nvrtc_program.hpp"
#include "backend/cuda/jit/source_headers.hpp"
#include "base/environment.hpp"

/// Sources of programs.
namespace quarry::backend {
namespace {

using namespace cuda;

bool has_option(const SourceText& source, std::string_view begin) {
  return std::ranges::any_of(source.options,
                             [&](const std::string& option) { return option.starts_with(begin); });
}

CodeKind kind_of(const SourceText& source) {
  if (has_option(source, "-dlto") || has_option(source, "--dlink-time-opt")) return CodeKind::ltoir;
  return has_option(source, "--gpu-architecture=compute_") ? CodeKind::ptx : CodeKind::cubin;
}

/// Each field with its length: no two sources have one key.
std::string key_of(const SourceText& source) {
  const auto [major, minor] = nvrtc_version();
  std::string key = fmt::format("source\nnvrtc {}.{}\n", major, minor);
  if (source.text.find("include") != source.text.npos) key += source_headers_digest() + '\n';
  const auto add = [&](std::string_view field) {
    key += fmt::format("{}:{}\n", field.size(), field);
  };
  add(source.text);
  add(source.file);
  for (const auto* list : {&source.options, &source.names}) {
    key += fmt::format("{}\n", list->size());
    for (const std::string& field : *list) add(field);
  }
  return key;
}

/// In the cache the lowered names stand in the place of a kernel's, a line each.
Binary binary_of(const CompiledCode& compiled, const SourceText& source) {
  std::string lines;
  for (const std::string& name : source.names) lines += compiled.lowered.at(name) + '\n';
  return {compiled.code, lines};
}
std::optional<CompiledCode> compiled_of(const std::optional<Binary>& binary,
                                        const SourceText& source) {
  if (!binary) return std::nullopt;
  CompiledCode compiled{kind_of(source), binary->code};
  std::string_view lines = binary->function;
  for (const std::string& name : source.names) {
    const auto end = lines.find('\n');
    if (end == lines.npos) return std::nullopt;
    compiled.lowered.emplace(name, lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  return compiled;
}

CompiledCode compile(const SourceText& source) {
  NvrtcProgram program(source.text, source.file.c_str(), source.options, source_headers());
  program.compile(source.names, "the source");
  CompiledCode compiled{.kind = kind_of(source), .log = program.log()};
  compiled.code = program.code(compiled.kind);
  for (const std::string& name : source.names) {
    compiled.lowered.emplace(name, program.lowered(name));
  }
  return compiled;
}

/// QUARRY_DISABLE_CACHE counts for every directory.
KernelCache& cache_of(const SourceCache& wanted) {
  if (wanted.directory.empty() || !environment::has_disk_cache()) return kernel_cache();
  return kernel_cache_in(wanted.directory);
}

}  // namespace

std::string architecture_of(std::pair<int, int> compute_capability) {
  return architecture_for(compute_capability, supported_architectures()).name;
}

CompiledCode compile_source(const SourceText& source, const SourceCache& cache) {
  if (!cache.is_used) return compile(source);
  KernelCache& kernels = cache_of(cache);
  const std::string key = key_of(source);
  if (auto found = compiled_of(kernels.load(key), source)) return *std::move(found);
  CompiledCode compiled = compile(source);
  kernels.store(key, binary_of(compiled, source));
  return compiled;
}

void forget_source(const SourceText& source, const SourceCache& cache) {
  if (cache.is_used) cache_of(cache).remove(key_of(source));
}

}  // namespace quarry::backend
