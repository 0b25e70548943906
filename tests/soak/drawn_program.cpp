// SPDX-License-Identifier: BSD-3-Clause
#include "soak/drawn_program.hpp"

#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/pool.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace quarry::soak {
namespace {

using Array = DeviceNDArray<std::int64_t>;
using Pinned = std::vector<std::int64_t, PinnedAllocator<std::int64_t>>;

/// An array and what it has to be. Views share the number of the stream that used the memory last.
struct Variable {
  Array array;
  Model model;
  std::shared_ptr<std::size_t> last_stream;
};

class DrawnProgram {
 public:
  DrawnProgram(std::uint64_t seed, const Lasting& lasting)
      : random_(seed), lasting_(lasting), extents_{between(1, 40), between(1, 40)} {
    if (one_in(8)) {
      pool_.emplace(device_resource());
      own_memory_.emplace(*pool_);
    }
    for (std::int64_t k = between(1, 3); k > 0; --k) {
      streams_.push_back(stream({.non_blocking = one_in(2)}));
    }
    for (int k = 0; k < 3; ++k) variables_.push_back(created());
  }

  void run() {
    for (std::int64_t k = between(4, 30); k > 0; --k) step();
    for (const Variable& variable : variables_) compare(variable);
  }

 private:
  // --- drawing
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool one_in(int n) { return between(1, n) == 1; }
  Values drawn_values(std::int64_t count) {
    Values values(static_cast<std::size_t>(count));
    for (std::int64_t& value : values) value = between(-1000, 1000);
    return values;
  }
  Shape drawn_shape() {
    const auto [a, b] = extents_;
    switch (between(0, 4)) {
      case 0:
        return {b};
      case 1:
        return {a, 1};
      case 2:
        return {between(1, 3), a, b};
      default:
        return {a, b};
    }
  }
  Variable& drawn() { return variables_[static_cast<std::size_t>(between(0, 2))]; }

  // --- order between streams
  /// The stream of the next step.
  void choose_stream() {
    stream_ = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(streams_.size()) - 1));
  }
  const Stream& here() const { return streams_[stream_]; }
  /// What is queued here from now on comes after all that was queued with the variable.
  void use(const Variable& variable) {
    std::size_t& last = *variable.last_stream;
    if (last != stream_) here().wait_event(streams_[last].record());
    last = stream_;
  }

  Variable made(const Array& array, Model model) {
    return {array.bind(here()), std::move(model), std::make_shared<std::size_t>(stream_)};
  }
  Variable view(const Variable& of, const Array& array, Model model) {
    return {array, std::move(model), of.last_stream};
  }

  // --- steps
  Variable created() {
    choose_stream();
    const Shape shape = drawn_shape();
    const Values values = drawn_values(element_count(shape));
    Array array(shape, here());
    switch (between(0, 3)) {
      case 0:
        array.fill(values[0]);
        return made(array, Model(shape, Values(values.size(), values[0])));
      case 1:
        array.copy_to_device(Pinned(values.begin(), values.end()), here());
        break;
      case 2: {
        const StreamGuard guard(here());
        array.copy_to_device(values);
        break;
      }
      default:
        array.copy_to_device(Values(values), here());
    }
    return made(array, Model(shape, values));
  }

  Variable viewed(const Variable& of) {
    const std::size_t axis = of.array.ndim() - 1;
    const std::int64_t extent = of.array.shape()[axis];
    switch (between(0, 2)) {
      case 0:
        return view(of, of.array.transpose(), of.model.transposed());
      case 1:
        return view(of, of.array(ellipsis, range(_, _, -1)),
                    of.model.sliced(axis, extent - 1, -1, extent));
      default: {
        const std::int64_t start = between(0, extent - 1);
        return view(of, of.array(ellipsis, range(start, _, 2)),
                    of.model.sliced(axis, start, 2, (extent - start + 1) / 2));
      }
    }
  }

  /// A new array of two; of one and a part of the lasting one where their shapes do not fit.
  Variable combined(const Variable& a, const Variable& b) {
    use(a);
    use(b);
    const StreamGuard guard(here());
    const Shape& shape = a.model.shape();
    const bool fits = b.model.broadcasts_to(shape);
    const std::int64_t last = shape[shape.size() - 1];
    if (!fits || one_in(4)) {
      if (last > Lasting::length) return made(a.array * 3, times(a.model, 3));
      const Array part = lasting_.array(range(0, last));
      return made(
          part * a.array + 1,
          plus_one(combine(a.model, lasting_.model.sliced(0, 0, 1, last), shape, wrapped_product),
                   shape));
    }
    switch (between(0, 2)) {
      case 0:
        return made(a.array + b.array, {shape, combine(a.model, b.model, shape, wrapped_sum)});
      case 1:
        return made(minimum(a.array, b.array), {shape, combine(a.model, b.model, shape, smaller)});
      default:
        return made(a.array * b.array + 1,
                    plus_one(combine(a.model, b.model, shape, wrapped_product), shape));
    }
  }
  static std::int64_t smaller(std::int64_t a, std::int64_t b) { return std::min(a, b); }
  static std::int64_t larger(std::int64_t a, std::int64_t b) { return std::max(a, b); }
  static Model times(const Model& a, std::int64_t factor) {
    Values values = a.values();
    for (std::int64_t& value : values) value = wrapped_product(value, factor);
    return {a.shape(), values};
  }
  static Model plus_one(Values values, const Shape& shape) {
    for (std::int64_t& value : values) value = wrapped_sum(value, 1);
    return {shape, std::move(values)};
  }

  void write(Variable& to, const Variable& from) {
    use(to);
    use(from);
    const StreamGuard guard(here());
    if (!from.model.broadcasts_to(to.model.shape())) {
      to.array(ellipsis) = 7;
      to.model.write({7});
    } else if (one_in(2)) {
      to.array(ellipsis) = from.array;
      to.model.write(from.model.broadcast(to.model.shape()).values());
    } else {
      to.array += from.array;
      to.model.write(combine(to.model, from.model, to.model.shape(), wrapped_sum));
    }
  }

  Variable reduced(const Variable& a) {
    use(a);
    const StreamGuard guard(here());
    const auto axis =
        static_cast<std::size_t>(between(0, static_cast<std::int64_t>(a.model.shape().size()) - 1));
    Shape shape = a.model.shape();
    shape[axis] = 1;
    return one_in(2) ? made(sum(a.array, axis, {.keepdims = true}),
                            {shape, fold(a.model, axis, wrapped_sum)})
                     : made(max(a.array + 0, axis, {.keepdims = true}),
                            {shape, fold(a.model, axis, larger)});
  }

  Variable copied(const Variable& a) {
    use(a);
    const StreamGuard guard(here());
    switch (between(0, 2)) {
      case 0:
        return made(a.array.copy(), {a.model.shape(), a.model.values()});
      case 1:
        return made(a.array.flatten(), {{a.model.size()}, a.model.values()});
      default:
        return made(a.array.astype<std::int64_t>(), {a.model.shape(), a.model.values()});
    }
  }

  void step() {
    choose_stream();
    Variable& target = drawn();
    switch (between(0, 8)) {
      case 0:
        target = created();
        break;
      case 1:
        target = viewed(drawn());
        break;
      case 2:
      case 3:
        target = combined(drawn(), drawn());
        break;
      case 4:
        write(target, drawn());
        break;
      case 5:
        target = reduced(drawn());
        break;
      case 6:
        target = copied(drawn());
        break;
      case 7:
        compare(target);
        break;
      default:
        if (one_in(4)) streams_[stream_] = renewed(streams_[stream_]);
    }
  }
  /// Another stream, behind the work of this one.
  static Stream renewed(const Stream& old) {
    Stream fresh = stream();
    fresh.wait_event(old.record());
    return fresh;
  }

  void compare(const Variable& variable) {
    choose_stream();
    use(variable);
    if (one_in(2)) {
      Pinned to(static_cast<std::size_t>(variable.array.size()));
      variable.array.copy_to_host(to, here());
      here().synchronize();
      return require_same(Values(to.begin(), to.end()), variable);
    }
    Values to(static_cast<std::size_t>(variable.array.size()));
    if (one_in(2)) {
      const StreamGuard guard(here());
      variable.array.copy_to_host(to);
    } else {
      variable.array.copy_to_host(to, here());
      here().synchronize();
    }
    require_same(to, variable);
  }
  static void require_same(const Values& seen, const Variable& variable) {
    const Values expected = variable.model.values();
    const auto [at, other] = std::ranges::mismatch(seen, expected);
    if (at == seen.end()) return;
    throw WrongValues("shape " + to_string(variable.array.shape()) + ", strides " +
                      to_string(variable.array.strides()) + ": element " +
                      std::to_string(at - seen.begin()) + " is " + std::to_string(*at) + ", not " +
                      std::to_string(*other));
  }

  std::mt19937_64 random_;
  const Lasting& lasting_;
  const std::pair<std::int64_t, std::int64_t> extents_;
  std::optional<Pool> pool_;
  std::optional<ResourceGuard> own_memory_;
  std::vector<Stream> streams_;
  std::size_t stream_ = 0;
  std::vector<Variable> variables_;
};

Values counted() {
  Values values(Lasting::length);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

}  // namespace

Lasting::Lasting() : model({length}, counted()), array(to_device(counted())) {}

void run_drawn_program(std::uint64_t seed, const Lasting& lasting) {
  DrawnProgram(seed, lasting).run();
}

}  // namespace quarry::soak
