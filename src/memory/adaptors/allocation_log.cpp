// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation_log.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <ostream>
#include <string_view>

namespace quarry {
namespace {

std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  const auto local = fmt::localtime(std::chrono::system_clock::to_time_t(time));
  return fmt::format("{:%H:%M:%S}.{:06}", local, since.count() % 1'000'000);
}

/// A field of CSV.
std::string quoted(std::string text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return '"' + text + '"';
}

}  // namespace

struct AllocationLog::State {
  State(const Resource& upstream, std::ostream* somebody_else)
      : out(somebody_else ? *somebody_else : file),
        device(to_string(upstream.device())),
        resource(quoted(upstream.name())) {}
  ~State() { out.flush(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void write_titles() { out << "Thread,Time,Action,Pointer,Size,Stream,Device,Resource\n"; }
  /// A failed write is reported by flush(): the allocation itself is valid.
  void write(std::string_view action, const void* memory, std::size_t bytes,
             const Stream& stream) noexcept {
    const std::lock_guard lock(mutex);
    try {
      out << fmt::format("{},{},{},{:#x},{},{:#x},{},{}\n", ::gettid(), now(), action,
                         reinterpret_cast<std::uintptr_t>(memory), bytes, stream.handle(), device,
                         resource);
    } catch (const std::exception&) {
      lost = true;
    }
  }

  std::mutex mutex;
  std::ofstream file;
  std::ostream& out;
  const std::string device, resource;
  bool lost = false;
};

AllocationLog::AllocationLog(Resource upstream, const std::filesystem::path& file)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>(Adaptor::upstream(), nullptr)) {
  state_->file.open(file);
  require<IoError>(state_->file.is_open(), [&] {
    return fmt::format("cannot write the log {}: {}", file.string(), std::strerror(errno));
  });
  state_->write_titles();
  flush();
}

AllocationLog::AllocationLog(Resource upstream, std::ostream& out)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>(Adaptor::upstream(), &out)) {
  state_->write_titles();
}

void* AllocationLog::allocate(const Stream& stream, std::size_t bytes,
                              std::size_t alignment) const {
  void* memory = nullptr;
  try {
    memory = upstream().allocate(stream, bytes, alignment);
  } catch (...) {
    state_->write("allocate failure", nullptr, bytes, stream);
    throw;
  }
  state_->write("allocate", memory, bytes, stream);
  return memory;
}

void AllocationLog::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                               std::size_t bytes, std::size_t alignment) const noexcept {
  state_->write("free", memory, bytes, stream);  // before the memory can be handed out again
  upstream().deallocate(stream, others, memory, bytes, alignment);
}

void AllocationLog::flush() const {
  const std::lock_guard lock(state_->mutex);
  state_->out.flush();
  require<IoError>(state_->out.good() && !state_->lost,
                   [&] { return fmt::format("{}: lines could not be written", name()); });
}

}  // namespace quarry
