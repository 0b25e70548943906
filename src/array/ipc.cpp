// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/ipc.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "base/aligned.hpp"

namespace quarry {
namespace {

/// Distinguishes this process from others with the same id, earlier or on other machines.
std::uint64_t mark_of_this_process() {
  static const std::uint64_t mark = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return mark;
}

constexpr std::string_view magic = "QRYIPC01";
constexpr std::size_t longest_text = 4096;

/// Numbers are written as 8 bytes, little-endian; text after its length.
class Writer {
 public:
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  }
  void add(std::span<const std::byte> raw) { bytes_.insert(bytes_.end(), raw.begin(), raw.end()); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    add(std::as_bytes(std::span(text)));
  }
  void add(const Dims& dims) {
    for (const std::int64_t value : dims) add(static_cast<std::uint64_t>(value));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

[[noreturn]] void refuse(const std::string& why) {
  throw FormatError("these bytes are no handle of an array: " + why);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> raw(std::size_t size) {
    if (size > rest_.size()) refuse("they end too early");
    const auto part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto bytes = raw(8);
    for (std::size_t i = 0; i < 8; ++i)
      value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    return value;
  }
  /// Of bytes of memory.
  std::size_t size() {
    const std::uint64_t value = number();
    if (value > std::uint64_t{1} << 62) refuse(fmt::format("they speak of {} bytes", value));
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > longest_text) refuse(fmt::format("they have a text of {} bytes", size));
    const auto bytes = raw(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Dims dims(std::size_t rank) {
    Dims dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(number()));
    return dims;
  }
  void finish() const {
    if (!rest_.empty()) refuse(fmt::format("{} bytes too many", rest_.size()));
  }

 private:
  std::span<const std::byte> rest_;
};

void write(Writer& out, const DType& dtype) {
  out.add(dtype.name());
  out.add(std::uint64_t{dtype.itemsize()});
  out.add(std::uint64_t{dtype.alignment()});
  if (dtype.is_record()) out.add(dtype.class_name());
}

/// The class of this name, for as long as the program runs.
const detail::RecordClass* record_class_named(const std::string& name) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, detail::RecordClass>;
  if (name.empty()) return &detail::no_class;
  const std::lock_guard lock(mutex);
  const auto entry = known.try_emplace(name).first;
  entry->second.name = entry->first;
  return &entry->second;
}

DType read_dtype(Reader& in) {
  const std::string name = in.text();
  const std::size_t itemsize = in.size(), alignment = in.size();
  for (std::size_t id = 0; id < type_count; ++id) {
    const DType known(static_cast<TypeId>(id));
    if (known.name() != name) continue;
    if (known.itemsize() == itemsize && known.alignment() == alignment) return known;
  }
  const bool is_record = name == DType::record(1, 1).name() && std::has_single_bit(alignment) &&
                         itemsize > 0 && itemsize % alignment == 0;
  if (!is_record) refuse(fmt::format("no element type \"{}\" of {} bytes", name, itemsize));
  return DType::record(itemsize, alignment, record_class_named(in.text()));
}

Layout read_layout(Reader& in) {
  const std::uint64_t rank = in.number();
  if (rank > max_rank) refuse(fmt::format("{} axes", rank));
  Shape shape = in.dims(rank);
  return {std::move(shape), in.dims(rank)};
}

/// Throws unless every element lies in the allocation and is aligned.
void require_sound(const Layout& layout, const DType& dtype, std::size_t offset,
                   std::size_t bytes) {
  try {
    element_count(layout.shape);
    const ByteBounds bounds = byte_bounds(layout, dtype.itemsize());
    const auto at = static_cast<std::int64_t>(offset);
    const bool is_inside = offset <= bytes && checked_add(at, bounds.lowest) >= 0 &&
                           checked_add(at, bounds.past) <= static_cast<std::int64_t>(bytes);
    if (!is_inside) refuse("the array lies outside of its memory");
  } catch (const ShapeError& e) {
    refuse(e.what());
  }
  const void* const at = reinterpret_cast<const void*>(offset);  // allocations are aligned for all
  if (!is_aligned(at, layout, dtype)) refuse("the elements are not aligned");
}

std::optional<Device> find_device(const std::string& uuid) {
  for (const Device device : gpus) {
    if (device.uuid() == uuid) return device;
  }
  return std::nullopt;
}

/// Where to open memory of the GPU with this uuid.
Device device_for(const std::string& uuid, const std::optional<Device>& wanted) {
  const auto home = find_device(uuid);
  const Device device = wanted ? *wanted : home.value_or(Device());
  require<LogicError>(!device.is_cpu(), [&] {
    return fmt::format("an array of the GPU {} cannot be opened on the CPU device", uuid);
  });
  const bool is_near = !home || *home == device || device.can_access_peer(*home);
  require<LogicError>(is_near, [&] {
    return fmt::format("an array of {} ({}) cannot be opened on {}, which cannot access its memory",
                       to_string(*home), uuid, to_string(device));
  });
  return device;
}

}  // namespace

IpcArrayHandle get_ipc_handle(const DeviceNDArrayBase& array) {
  require<LogicError>(!array.empty(), [&] {
    return fmt::format("an array of shape {} has no memory to share", to_string(array.shape()));
  });
  require<LogicError>(array.buffer()->space() == MemorySpace::device, [&] {
    return fmt::format(
        "an array in {} memory cannot be shared between processes: copy it to memory of "
        "device_resource or of the default pool",
        to_string(array.buffer()->space()));
  });
  require<LogicError>(is_aligned(array.device_pointer(), array.layout(), array.dtype()), [&] {
    return fmt::format(
        "an array of {} at {} with strides {} cannot be shared: its elements are not aligned; "
        "copy() makes one",
        to_string(array.dtype()), fmt::ptr(array.device_pointer()), to_string(array.strides()));
  });
  IpcArrayHandle result(array.dtype(), array.layout());
  const IpcMemory memory = get_ipc_handle(DevicePtr(array));
  result.memory_ = {memory.handle, memory.offset, memory.bytes};
  result.uuid_ = memory.device.uuid();
  result.process_ = getpid();
  result.mark_ = mark_of_this_process();
  return result;
}

std::vector<std::byte> IpcArrayHandle::to_bytes() const {
  Writer out;
  out.add(std::as_bytes(std::span(magic)));
  out.add(std::span<const std::byte>(memory_.handle));
  out.add(std::uint64_t{memory_.offset});
  out.add(std::uint64_t{memory_.bytes});
  out.add(static_cast<std::uint64_t>(process_));
  out.add(mark_);
  out.add(std::string_view(uuid_));
  write(out, dtype_);
  out.add(std::uint64_t{layout_.rank()});
  out.add(layout_.shape);
  out.add(layout_.strides);
  return out.take();
}

IpcArrayHandle IpcArrayHandle::from_bytes(std::span<const std::byte> bytes) {
  Reader in(bytes);
  const auto head = in.raw(magic.size());
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0) {
    refuse(fmt::format("they do not begin with {}", magic));
  }
  Memory memory;
  std::ranges::copy(in.raw(memory.handle.size()), memory.handle.begin());
  memory.offset = in.size();
  memory.bytes = in.size();
  const auto process = static_cast<std::int64_t>(in.number());
  const std::uint64_t mark = in.number();
  std::string uuid = in.text();
  const DType dtype = read_dtype(in);
  IpcArrayHandle result(dtype, read_layout(in));
  in.finish();
  require_sound(result.layout_, dtype, memory.offset, memory.bytes);
  result.memory_ = memory;
  result.uuid_ = std::move(uuid);
  result.process_ = process;
  result.mark_ = mark;
  return result;
}

void IpcArrayHandle::require_dtype(DType wanted) const {
  if (!(dtype_ == wanted)) detail::throw_wrong_dtype(wanted, dtype_);
}

IpcArrayHandle::Opened IpcArrayHandle::open_buffer(const std::optional<Device>& device) {
  require<LogicError>(mark_ != mark_of_this_process(),
                      "the handle of an array cannot be opened in the process that exported it; "
                      "use the array");
  require<LogicError>(opened_ != nullptr, "the handle of an array was moved from");
  require<LogicError>(!is_open(), "the handle of an array is already opened");
  Opened buffer = IPCMemoryHandle(memory_.handle, device_for(uuid_, device)).buffer();
  require<LogicError>(buffer->bytes() >= memory_.bytes, [&] {
    return fmt::format("the memory of another process has {} bytes, its handle says {}",
                       buffer->bytes(), memory_.bytes);
  });
  return *opened_ = std::move(buffer);
}

void IpcArrayHandle::close() {
  require<LogicError>(is_open(), "the handle of an array is not open");
  opened_->reset();
}

}  // namespace quarry
