// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/streams/shared_event.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <string>

namespace quarry::fake {
namespace {

constexpr std::size_t page = 4096;

struct Name {
  char kind[8];
  std::int32_t process, file;
};
constexpr char kind[8] = {'f', 'a', 'k', 'e', '-', 'e', 'v', 't'};

bool read(Name& name, const CUipcEventHandle& handle) {
  std::memcpy(&name, handle.reserved, sizeof name);
  return std::memcmp(name.kind, kind, sizeof kind) == 0;
}

}  // namespace

SharedEvent::SharedEvent(int file) : file_(file) {
  void* const memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  counts_ = static_cast<Counts*>(memory);
}

SharedEvent::~SharedEvent() {
  munmap(counts_, page);
  close(file_);
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
  const int file = memfd_create("quarry-fake-event", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, page) != 0) throw std::bad_alloc();
  return std::make_shared<SharedEvent>(file);
}

std::shared_ptr<SharedEvent> SharedEvent::open(const CUipcEventHandle& handle) {
  Name name;
  if (!read(name, handle)) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return file < 0 ? nullptr : std::make_shared<SharedEvent>(file);
}

bool SharedEvent::is_own(const CUipcEventHandle& handle) {
  Name name;
  return read(name, handle) && name.process == getpid();
}

CUipcEventHandle SharedEvent::handle() const {
  Name name{{}, getpid(), file_};
  std::memcpy(name.kind, kind, sizeof kind);
  CUipcEventHandle handle{};
  std::memcpy(handle.reserved, &name, sizeof name);
  return handle;
}

void SharedEvent::finish(std::uint64_t number) {
  std::uint64_t done = counts_->done;
  while (done < number && !counts_->done.compare_exchange_weak(done, number)) {
  }
}

}  // namespace quarry::fake
