// SPDX-License-Identifier: BSD-3-Clause
// Quarry's arrays as Python objects: __dlpack__ and from_dlpack exchange them with CuPy, PyTorch,
// JAX and NumPy, without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <quarry/dlpack.hpp>
#include <quarry/quarry.hpp>

namespace nb = nanobind;
namespace qy = quarry;
using Array = qy::UntypedNDArray;

namespace {

template <class Tensor>
constexpr const char* name_of = "dltensor";
template <>
constexpr const char* name_of<DLManagedTensorVersioned> = "dltensor_versioned";

/// A capsule that nobody takes a tensor from calls the deleter itself.
template <class Owner, class Tensor = typename Owner::element_type>
nb::object capsule_of(Owner owner) {
  const auto destroy = [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, name_of<Tensor>)) return;  // its name says that it is used
    Owner(static_cast<Tensor*>(PyCapsule_GetPointer(capsule, name_of<Tensor>)));
  };
  return nb::steal(PyCapsule_New(owner.release(), name_of<Tensor>, destroy));
}

/// The stream of __dlpack__: None is the legacy default stream, -1 asks for no order.
std::optional<qy::Stream> consumer_of(const Array& array, const nb::object& stream) {
  if (array.device().is_cpu()) return std::nullopt;
  if (stream.is_none()) return qy::legacy_default_stream();
  const auto handle = nb::cast<std::intptr_t>(stream);
  if (handle == -1) return array.stream();
  if (handle == 0) throw nb::value_error("stream 0 is ambiguous: 1 and 2 are the default streams");
  return qy::external_stream(static_cast<std::uintptr_t>(handle));
}

nb::object dlpack(const Array& array, const nb::object& stream, const nb::object& max_version,
                  const nb::object&, const nb::object&) {
  const auto consumer = consumer_of(array, stream);
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  return versioned ? capsule_of(qy::to_dlpack(array, consumer))
                   : capsule_of(qy::to_dlpack_unversioned(array, consumer));
}

nb::tuple dlpack_device(const Array& array) {
  const DLDevice device = qy::detail::dlpack::device_of(array);
  return nb::make_tuple(int(device.device_type), device.device_id);
}

/// Takes the tensor out of a capsule of that name.
template <class Tensor>
Tensor* taken(const nb::object& capsule, const char* used) {
  auto* const tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule.ptr(), name_of<Tensor>));
  if (!tensor) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), used);
  return tensor;
}

Array from_dlpack(const nb::object& producer) {
  const int type = nb::cast<int>(producer.attr("__dlpack_device__")()[0]);
  const nb::object stream = type == kDLCUDA ? nb::object(nb::int_(1)) : nb::none();
  nb::object capsule;
  try {
    capsule = producer.attr("__dlpack__")(nb::arg("stream") = stream,
                                          nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;  // a producer of protocol 0.x
    capsule = producer.attr("__dlpack__")(nb::arg("stream") = stream);
  }
  if (PyCapsule_IsValid(capsule.ptr(), name_of<DLManagedTensorVersioned>))
    return qy::from_dlpack(taken<DLManagedTensorVersioned>(capsule, "used_dltensor_versioned"));
  return qy::from_dlpack(taken<DLManagedTensor>(capsule, "used_dltensor"));
}

/// In place: array *= factor.
void scale(const Array& array, double factor) {
  if (array.dtype() == qy::dtype_of<float>) {
    qy::DeviceNDArray<float>(array) *= factor;
  } else {
    qy::DeviceNDArray<double>(array) *= factor;
  }
}

}  // namespace

NB_MODULE(quarry_arrays, m) {
  nb::class_<Array>(m, "Array")
      .def("__dlpack__", dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none())
      .def("__dlpack_device__", dlpack_device)
      .def("__repr__", [](const Array& array) { return qy::to_string(array); })
      .def_prop_ro("pointer", [](const Array& array) {
        return reinterpret_cast<std::uintptr_t>(array.device_pointer());
      });
  m.def("from_dlpack", from_dlpack);
  m.def("scale", scale);
  m.def("arange", [](float n) { return Array(qy::arange(n)); });
  m.def("device", [] { return qy::to_string(qy::get_current_device()); });
}
