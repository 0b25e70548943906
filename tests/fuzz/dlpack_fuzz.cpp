// SPDX-License-Identifier: BSD-3-Clause
// A libFuzzer program: any bytes are the fields of a DLPack tensor, which is taken over or refused
// with an Error; its deleter is called once. What lies in memory that there is, is read, and handed
// on.
#include <quarry/dlpack.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace quarry;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Values one after another; zeros at the end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  template <class T>
  T take() {
    T value{};
    const std::size_t bytes = std::min(sizeof value, size_);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    size_ -= bytes;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

enum Bits : std::uint8_t {
  versioned = 1,
  no_shape = 2,
  no_strides = 4,
  no_deleter = 8,
  anywhere = 16,
  no_data = 32
};

constexpr std::size_t most_axes = 40;  // of which there are numbers
alignas(64) std::byte memory[1024];

/// What a producer owns.
struct Producer {
  std::int64_t shape[most_axes], strides[most_axes];
  int deleted = 0;
};

template <class Tensor>
void count(Tensor* tensor) {
  ++static_cast<Producer*>(tensor->manager_ctx)->deleted;
}

DLTensor tensor_of(Input& in, std::uint8_t bits, Producer& producer) {
  DLTensor t{};
  const std::int32_t type = in.take<std::uint8_t>();  // which need be none of the enumeration
  std::memcpy(&t.device.device_type, &type, sizeof type);
  t.device.device_id = in.take<std::int32_t>();
  t.ndim = in.take<std::int32_t>();
  t.dtype = {in.take<std::uint8_t>(), in.take<std::uint8_t>(), in.take<std::uint16_t>()};
  t.byte_offset = in.take<std::uint64_t>();
  const auto place = in.take<std::uint64_t>();
  t.data = (bits & no_data) != 0    ? nullptr
           : (bits & anywhere) != 0 ? reinterpret_cast<void*>(place)
                                    : memory + place % sizeof memory;
  for (std::size_t d = 0; d < most_axes && int(d) < t.ndim; ++d) {
    producer.shape[d] = in.take<std::int64_t>();
    producer.strides[d] = in.take<std::int64_t>();
  }
  t.shape = (bits & no_shape) != 0 ? nullptr : producer.shape;
  t.strides = (bits & no_strides) != 0 ? nullptr : producer.strides;
  return t;
}

/// Whether all elements lie in `memory`.
bool is_there(const DeviceNDArrayBase& array) {
  const ByteBounds bounds = byte_bounds(array.layout(), array.dtype().itemsize());
  const auto at = reinterpret_cast<std::intptr_t>(array.device_pointer());
  const auto begin = reinterpret_cast<std::intptr_t>(memory);
  return array.size() > 0 && at + bounds.lowest >= begin &&
         at + bounds.past <= begin + std::intptr_t(sizeof memory);
}

void check_elements(const DeviceNDArrayBase& array) {
  constexpr std::int64_t most = 1 << 12;
  if (!is_there(array) || array.size() > most) return;
  const std::size_t itemsize = array.dtype().itemsize();
  std::vector<std::byte> host(array.nbytes());
  download({host.data(), array.dtype(), {array.shape(), c_strides(array.shape(), itemsize)}},
           array.ref(), array.stream(), true);
  if (array.dtype() == TypeId::bool_) return;  // any byte may be one
  for (std::int64_t n = 0; n < array.size(); ++n) {
    const std::byte* at = array.device_pointer();
    std::int64_t rest = n;
    for (std::size_t d = array.ndim(); d-- > 0; rest /= array.shape()[d])
      at += rest % array.shape()[d] * array.strides()[d];
    require(std::memcmp(at, host.data() + n * std::int64_t(itemsize), itemsize) == 0);
  }
}

void check_again(const UntypedNDArray& array) {
  try {
    const UntypedNDArray again = from_dlpack(to_dlpack(array));
    require(again.shape() == array.shape() && again.dtype() == array.dtype());
    require(again.is_read_only() == array.is_read_only());
    require(again.empty() || again.device_pointer() == array.device_pointer());
  } catch (const LogicError&) {  // strides that are no whole elements
  }
}

template <class Tensor>
void take_over(Input& in, std::uint8_t bits) {
  Producer producer;
  Tensor tensor{};
  if constexpr (requires { tensor.version; }) {
    tensor.version = {in.take<std::uint32_t>(), in.take<std::uint32_t>()};
    tensor.flags = in.take<std::uint64_t>();
  }
  tensor.dl_tensor = tensor_of(in, bits, producer);
  tensor.manager_ctx = &producer;
  tensor.deleter = (bits & no_deleter) != 0 ? nullptr : count<Tensor>;
  try {
    const UntypedNDArray array = from_dlpack(&tensor);
    check_elements(array);
    check_again(array);
  } catch (const Error&) {
  }
  default_stream(Device::cpu()).synchronize();
  require(producer.deleted == ((bits & no_deleter) != 0 ? 0 : 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  const auto bits = in.take<std::uint8_t>();
  (bits & versioned) != 0 ? take_over<DLManagedTensorVersioned>(in, bits)
                          : take_over<DLManagedTensor>(in, bits);
  return 0;
}
