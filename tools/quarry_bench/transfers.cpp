// SPDX-License-Identifier: BSD-3-Clause
#include "tools/quarry_bench/transfers.hpp"

#include <quarry/expr/evaluate.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/runtime/event.hpp>

#include <atomic>
#include <cstring>

#include "backend/backend.hpp"
#include "runtime/stream_state.hpp"
#include "tools/random.hpp"

namespace bench {

using backend_direction = quarry::backend::Direction;

namespace {

float value_at(std::int64_t i) { return uniform(0, i); }

/// Both ends and about a million elements between.
std::int64_t step_between_checks(std::int64_t n) { return n / (1 << 20) * 2 + 1; }

/// The element of a matrix at position `i` in C order, as an index of its memory.
std::int64_t place(const quarry::Layout& layout, std::int64_t i) {
  const std::int64_t columns = layout.shape[1];
  return (i / columns * layout.strides[0] + i % columns * layout.strides[1]) / 4;
}

void write_values(std::byte* memory, std::size_t bytes) {
  auto* const values = reinterpret_cast<float*>(memory);
  in_parts(static_cast<std::int64_t>(bytes / 4),
           [values](std::size_t, std::int64_t begin, std::int64_t end) {
             for (std::int64_t i = begin; i < end; ++i) values[i] = value_at(i);
           });
}

void compare(const std::byte* memory, const quarry::Layout& to, const quarry::Layout& from) {
  const auto* const values = reinterpret_cast<const float*>(memory);
  const std::int64_t n = to.shape[0] * to.shape[1], step = step_between_checks(n);
  std::atomic<std::int64_t> wrong = -1;
  in_parts((n + step - 1) / step, [&](std::size_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t i = std::min(k * step, n - 1);
      if (!(values[place(to, i)] == value_at(place(from, i)))) wrong = i;
    }
  });
  quarry::require<quarry::RuntimeError>(wrong < 0, [&] {
    return "wrong result: element " + std::to_string(wrong) + " did not arrive";
  });
}

quarry::Resource resource_of(Memory memory, const quarry::Device& device) {
  if (memory == Memory::managed) return quarry::managed_resource(device);
  return memory == Memory::mapped ? quarry::mapped_resource(device)
                                  : quarry::pinned_resource(device);
}

}  // namespace

Arena::Arena(Memory memory, std::size_t bytes, const quarry::Device& device) {
  if (memory == Memory::pageable) {
    pageable_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    host_ = pageable_.get();
  } else {
    buffer_ = quarry::Buffer::allocate(bytes, quarry::default_stream(device),
                                       resource_of(memory, device));
    host_ = buffer_->host_data();
  }
  write_values(host_, bytes);
}

Transfers::Transfers(const quarry::Device& device, std::size_t most_bytes, const Sampling& sampling)
    : device_(device),
      stream_(quarry::default_stream(device)),
      most_bytes_(most_bytes),
      sampling_(sampling),
      from_(quarry::Buffer::allocate(most_bytes, stream_, quarry::device_resource(device))),
      to_(quarry::Buffer::allocate(most_bytes, stream_, quarry::device_resource(device))),
      fetched_(std::make_unique_for_overwrite<std::byte[]>(most_bytes)) {
  for (int i = 0; i < 4; ++i) streams_.push_back(quarry::stream({.device = device}));
  take_arenas(Memory::pageable);
  device_.backend().copy(
      {backend_direction::host_to_device, from_->data(), source_->host(), most_bytes},
      stream_.state().native, true);
}

void Transfers::take_arenas(Memory memory) {
  if (memory == Memory::device || (memory == memory_ && source_)) return;
  source_.reset();
  target_.reset();
  source_ = std::make_unique<Arena>(memory, most_bytes_, device_);
  target_ = std::make_unique<Arena>(memory, most_bytes_, device_);
  memory_ = memory;
}

Link Transfers::measure_link(std::size_t bytes, int copies) {
  const auto on_device = quarry::Buffer::allocate(bytes, stream_, quarry::device_resource(device_));
  const Arena host(device_.is_cpu() ? Memory::pageable : Memory::pinned, bytes, device_);
  auto* const stream = streams_[0].state().native;
  const auto rate = [&](const quarry::backend::Copy& copy) {
    const auto one = [&] {
      return timed([&] {
        for (int i = 0; i < copies; ++i) device_.backend().copy(copy, stream, false);
        streams_[0].synchronize();
      });
    };
    const double seconds = median(take_samples(one, {.warm_up = 1, .least = 3, .most = 3}));
    return static_cast<double>(bytes) * copies / seconds;
  };
  return {rate({backend_direction::host_to_device, on_device->data(), host.host(), bytes}),
          rate({backend_direction::device_to_host, host.host(), on_device->data(), bytes})};
}

TransferRow Transfers::run(const TransferCase& c) {
  TransferRow row{.section = c.section,
                  .memory = to_string(c.memory),
                  .direction = to_string(c.way),
                  .layout = to_string(c.pattern, c.strided),
                  .streams = c.streams,
                  .bytes = c.way == Way::both ? 2 * c.bytes : c.bytes,
                  .error = {}};
  try {
    take_arenas(c.memory);
    const Work work = work_of(c);
    check(c, work);
    const auto one = [&] { return c.memory == Memory::managed ? prefetch(c) : timed(work); };
    row.seconds = median(take_samples(one, sampling_));
  } catch (const std::exception& error) {
    row.error = error.what();
  }
  return row;
}

// --- what is timed -------------------------------------------------------------------------------

quarry::HostRef Transfers::host_ref(const TransferCase& c, std::size_t at) const {
  const bool strided = c.strided == Side::host;
  std::byte* const memory = c.way == Way::down ? target_->host() : source_->host();
  return {memory + at, quarry::dtype_of<float>,
          matrix(c.bytes, strided ? c.pattern : Pattern::contiguous)};
}

quarry::DeviceRef Transfers::device_ref(const TransferCase& c, std::size_t at) const {
  const bool strided = c.strided == Side::device;
  quarry::Buffer* const buffer = (c.way == Way::down ? from_ : to_).get();
  return {buffer->data() + at, quarry::dtype_of<float>,
          matrix(c.bytes, strided ? c.pattern : Pattern::contiguous), buffer};
}

Transfers::Work Transfers::work_of(const TransferCase& c) {
  if (c.way == Way::both) return copy_both_ways(c);
  if (c.memory == Memory::managed) return [this, c] { prefetch(c); };
  if (c.memory == Memory::mapped) return copy_by_kernel(c);
  return c.streams > 0 ? copy_in_streams(c) : copy(c);
}

Transfers::Work Transfers::copy(const TransferCase& c) {
  if (c.memory == Memory::device) {
    quarry::DeviceRef from = device_ref(c), to = from;
    from.data = from_->data();
    from.buffer = from_.get();
    to.layout = matrix(c.bytes, Pattern::contiguous);
    return [=, this] {
      quarry::copy_elements(to, from, stream_);
      stream_.synchronize();
    };
  }
  const auto host = host_ref(c);
  const auto device = device_ref(c);
  if (c.way == Way::up) return [=, this] { quarry::upload(device, host, stream_, true); };
  return [=, this] { quarry::download(host, device, stream_, true); };
}

Transfers::Work Transfers::copy_in_streams(const TransferCase& c) {
  TransferCase part = c;
  const auto count = static_cast<std::size_t>(c.streams);
  part.bytes = c.bytes / count;
  std::vector<std::pair<quarry::HostRef, quarry::DeviceRef>> parts;
  for (std::size_t i = 0; i < count; ++i) {
    parts.emplace_back(host_ref(part, i * part.bytes), device_ref(part, i * part.bytes));
  }
  return [this, parts, up = c.way == Way::up] {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [host, device] = parts[i];
      up ? quarry::upload(device, host, streams_[i], false)
         : quarry::download(host, device, streams_[i], false);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) streams_[i].synchronize();
  };
}

Transfers::Work Transfers::copy_both_ways(const TransferCase& c) {
  TransferCase up = c, down = c;
  up.way = Way::up;
  down.way = Way::down;
  const auto from = host_ref(up), into = host_ref(down);
  const auto to = device_ref(up), out_of = device_ref(down);
  return [=, this] {
    quarry::upload(to, from, streams_[0], false);
    quarry::download(into, out_of, streams_[1], false);
    streams_[0].synchronize();
    streams_[1].synchronize();
  };
}

/// A kernel reads or writes the host memory in place, over the link.
Transfers::Work Transfers::copy_by_kernel(const TransferCase& c) {
  const auto array = [&](const std::shared_ptr<quarry::Buffer>& buffer) {
    return quarry::DeviceNDArray<float>(matrix(c.bytes, Pattern::contiguous), buffer->data(),
                                        buffer);
  };
  const bool up = c.way == Way::up;
  const auto to = array(up ? to_ : target_->buffer()), from = array(up ? source_->buffer() : from_);
  return [=, this] {
    to(quarry::all) = from * 1.f;
    stream_.synchronize();
  };
}

/// The pages of the source move to the device, those of the target to the host; from the other
/// side, where they are brought first. Returns the seconds.
double Transfers::prefetch(const TransferCase& c) {
  auto& gpu = device_.backend();
  auto& cpu = quarry::Device::cpu().backend();
  std::byte* const memory = host_ref(c).data;
  const auto move = [&](quarry::backend::Device& to) {
    gpu.prefetch(memory, c.bytes, to, stream_.state().native);
    stream_.synchronize();
  };
  move(c.way == Way::up ? cpu : gpu);
  return timed([&] { move(c.way == Way::up ? gpu : cpu); });
}

// --- checks --------------------------------------------------------------------------------------

/// Nothing that was there before can pass for a result.
void Transfers::poison(const TransferCase& c) {
  const std::uint32_t nan = 0xffffffff;
  if (c.way != Way::down) {
    const std::size_t bytes = span_of(device_ref(c).layout);
    device_.backend().fill(to_->data(), &nan, sizeof nan, static_cast<std::int64_t>(bytes / 4),
                           stream_.state().native);
    stream_.synchronize();
  }
  if (c.way == Way::down || c.way == Way::both) {
    std::byte* const memory = target_->host();
    const std::size_t bytes = span_of(host_ref(c).layout);
    in_parts(static_cast<std::int64_t>(bytes),
             [memory](std::size_t, std::int64_t begin, std::int64_t end) {
               std::memset(memory + begin, 0xff, static_cast<std::size_t>(end - begin));
             });
  }
}

void Transfers::fetch(std::size_t bytes, const std::byte* from) {
  device_.backend().copy({backend_direction::device_to_host, fetched_.get(), from, bytes},
                         stream_.state().native, true);
}

void Transfers::check(const TransferCase& c, const Work& work) {
  const auto dense = matrix(c.bytes, Pattern::contiguous);
  if (c.memory == Memory::managed) {  // the contents are to survive the move
    work();
    fetch(c.bytes, host_ref(c).data);
    return compare(fetched_.get(), dense, dense);
  }
  poison(c);
  work();
  const auto pattern = matrix(c.bytes, c.pattern);
  const bool host_is_strided = c.strided == Side::host;
  if (c.way != Way::down) {
    const bool strided = !host_is_strided && c.memory != Memory::device;
    const auto& to = strided ? pattern : dense;
    fetch(span_of(to), to_->data());
    compare(fetched_.get(), to, strided ? dense : pattern);
  }
  if (c.way == Way::down || c.way == Way::both) {
    compare(target_->host(), host_is_strided ? pattern : dense, host_is_strided ? dense : pattern);
  }
}

// --- waiting -------------------------------------------------------------------------------------

std::vector<TransferRow> Transfers::latencies() {
  take_arenas(device_.is_cpu() ? Memory::pageable : Memory::pinned);
  const auto& stream = streams_[0];
  const quarry::DeviceNDArray<float> array(quarry::Layout{quarry::Shape{1}, quarry::Strides{4}},
                                           to_->data(), to_);
  const quarry::Event event({.timing = false, .device = device_});
  const quarry::HostRef one{source_->host(), quarry::dtype_of<float>, array.layout()};
  const std::uint32_t pattern = 0;
  std::vector<TransferRow> rows;
  const auto add = [&](std::string what, auto work) {
    TransferRow row{.section = "waiting", .memory = {}, .direction = {}, .layout = {}, .error = {}};
    row.layout = std::move(what);
    row.seconds = median(take_samples([&] { return timed(work); }, sampling_));
    rows.push_back(row);
  };
  add("synchronize an idle stream", [&] { stream.synchronize(); });
  add("record an event and wait for it", [&] {
    event.record(stream);
    event.synchronize();
  });
  add("fill 4 bytes and synchronize", [&] {
    device_.backend().fill(to_->data(), &pattern, 4, 1, stream.state().native);
    stream.synchronize();
  });
  add("copy 4 bytes up and synchronize", [&] {
    quarry::upload(array.ref(), one, stream, false);
    stream.synchronize();
  });
  add("item()", [&] { array.item(); });
  return rows;
}

}  // namespace bench
