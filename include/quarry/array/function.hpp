// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/kernel_argument.hpp>
#include <quarry/base/kernel_function.hpp>
#include <quarry/runtime/event.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>

namespace quarry {

namespace detail {
struct ModuleState;
struct FunctionState;
}  // namespace detail

/// As many threads along x as occupy the device best.
inline constexpr Dim3 best_block(0, 0, 0);

/// How a kernel is launched.
struct LaunchConfig {
  Dim3 grid = 1;            ///< in blocks
  Dim3 block = best_block;  ///< in threads
  /// Without one the StreamGuard's, else that of the first array among the arguments, else the
  /// device's default stream.
  std::optional<Stream> stream = std::nullopt;
  std::size_t shared = 0;    ///< bytes of dynamic shared memory of a block
  bool cooperative = false;  ///< all blocks run at once and can wait for one another
  /// Extents in blocks of the clusters that a grid consists of, whose blocks run at once, near one
  /// another, and see each other's shared memory. From compute capability 9.0 on; a grid is a whole
  /// number of clusters along each axis.
  Dim3 cluster = 1;
};

/// The time that a launch takes on the GPU.
class LaunchTimer {
 public:
  /// Of the work between two events.
  LaunchTimer(Event begin, Event end) : begin_(std::move(begin)), end_(std::move(end)) {}
  /// Seconds; waits for the kernel. Can be called again.
  double operator()() const {
    end_.synchronize();
    return 1e-3 * static_cast<double>(begin_.elapsed_time(end_));
  }

 private:
  Event begin_, end_;
};

template <class... P>
class PreparedFunction;

/// A kernel of a module, which it keeps loaded. A handle: copies are of the same kernel.
class Function {
 public:
  class ForAll;

  const std::string& name() const;  ///< as the module was asked for it
  Device device() const;            ///< on which it is loaded

  /// Queues the kernel. Arguments are numbers and structs, by value and of the size that the
  /// parameter has; arrays on the device and allocations, as the address of element 0, whatever the
  /// strides; host arrays in In, Out and InOut, with which the launch waits. Memory that is freed
  /// meanwhile stays until the kernel is done, and so does the module. Throws LogicError for
  /// another number of arguments or another size than the kernel's parameters (with drivers before
  /// CUDA 12.4 that is not checked), for memory on another device, for a grid, a block or a cluster
  /// outside what GPUs have; LaunchError for a launch that the driver refuses. What a class of the
  /// program stands for as an argument says ArgumentHandler; shape and strides go with view_of().
  template <class... A>
  void launch(const LaunchConfig& config, const A&... arguments) const {
    launch_in(config, stream_for(config, detail::stream_of_arguments(arguments...)), arguments...);
  }
  /// The same.
  template <class... A>
  void operator()(const LaunchConfig& config, const A&... arguments) const {
    launch(config, arguments...);
  }
  /// The same between two events, for the time that it takes.
  template <class... A>
  LaunchTimer timed_launch(const LaunchConfig& config, const A&... arguments) const {
    LaunchConfig in = config;
    in.stream = stream_for(config, detail::stream_of_arguments(arguments...));
    const Event begin({.device = device()}), end({.device = device()});
    begin.record(*in.stream);
    launch(in, arguments...);
    end.record(*in.stream);
    return {begin, end};
  }

  /// A launch of at least `n` threads along x, in blocks that occupy the device best unless a size
  /// is given: f.forall(n)(arguments...). The kernel compares its index with n itself. Does nothing
  /// for n = 0.
  ForAll forall(std::int64_t n, const LaunchConfig& config = {}) const;

  /// The kernel with parameters of these types, checked once: see PreparedFunction.
  template <class... P>
  PreparedFunction<P...> prepare(std::size_t shared = 0) const;

  int attribute(FunctionAttribute attribute) const;  ///< one call of the driver
  /// Throws what the driver reports for a value that it refuses.
  void set_attribute(FunctionAttribute attribute, int value) const;
  void set_cache_config(CacheConfig config) const;  ///< a preference of the program
  ///@{
  /// Registers of a thread; bytes of static shared memory of a block; bytes of local memory of a
  /// thread.
  int num_regs() const { return attribute(FunctionAttribute::num_regs); }
  int shared_size_bytes() const { return attribute(FunctionAttribute::shared_size_bytes); }
  int local_size_bytes() const { return attribute(FunctionAttribute::local_size_bytes); }
  ///@}
  /// Threads of a block with which most of them run at once. This and what follows throw what the
  /// driver reports for more dynamic shared memory (bytes) than the GPU has.
  int best_block_size(std::size_t shared = 0) const;
  ///@{
  /// How many blocks a cluster can have at most in a launch with this configuration, and how many
  /// clusters as `config` has them the GPU runs at once. The grid does not count. Throw LogicError
  /// for a GPU without clusters, of a compute capability below 9.0.
  int max_cluster_size(const LaunchConfig& config) const;
  int max_active_clusters(const LaunchConfig& config) const;
  ///@}
  /// The most blocks of `threads` threads that a cooperative launch can have.
  int max_cooperative_grid_blocks(int threads, std::size_t shared = 0) const;
  /// How many blocks of `threads` a multiprocessor runs at once.
  int blocks_per_multiprocessor(int threads, std::size_t shared = 0) const;

  /// For the library itself.
  Function(std::shared_ptr<detail::ModuleState> module, detail::FunctionState& function)
      : module_(std::move(module)), function_(&function) {}

 private:
  template <class... P>
  friend class PreparedFunction;
  /// Lives as long as the configuration, the arguments, the guard or the module.
  const Stream& stream_for(const LaunchConfig& config, const Stream* of_arguments) const;
  const Stream& checked(const Stream& stream) const;  ///< throws unless it is of this device
  template <class... A>
  void launch_in(const LaunchConfig& config, const Stream& stream, const A&... arguments) const {
    launch_values(config, stream, detail::kernel_value(arguments, stream)...);
  }
  template <class... V>
  void launch_values(const LaunchConfig& config, const Stream& stream, const V&... values) const {
    if constexpr ((V::waits || ...)) {
      try {
        queue_values(config, stream, values...);
      } catch (...) {  // a copy that is queued may refer to what the exception destroys
        finish_despite_errors(stream);
        throw;
      }
      stream.synchronize();
    } else {
      queue_values(config, stream, values...);
    }
  }
  template <class... V>
  void queue_values(const LaunchConfig& config, const Stream& stream, const V&... values) const {
    (detail::prepare_value(values, stream), ...);
    const std::array<detail::KernelArgument, sizeof...(V)> list{values.argument()...};
    queue(config, stream, list);
    (values.finish(stream), ...);
  }
  static void finish_despite_errors(const Stream& stream) noexcept;
  void queue(const LaunchConfig& config, const Stream& stream,
             std::span<const detail::KernelArgument> arguments) const;
  void require_parameters(std::span<const std::size_t> sizes) const;

  std::shared_ptr<detail::ModuleState> module_;
  detail::FunctionState* function_;
};

/// See Function::forall().
class Function::ForAll {
 public:
  /// Launches nothing yet.
  ForAll(Function function, std::int64_t n, LaunchConfig config)
      : function_(std::move(function)), n_(n), config_(std::move(config)) {}
  /// Launches.
  template <class... A>
  void operator()(const A&... arguments) const {
    if (n_ > 0) function_.launch(config_, arguments...);
  }

 private:
  Function function_;
  std::int64_t n_;
  LaunchConfig config_;
};

/// A kernel whose parameter types are stated and checked once, so that calls do not compile with
/// others: `auto scale = f.prepare<float*, float>(); scale.prepared_call(grid, block, a, 2.f)`. A
/// parameter T* takes arrays of T, and memory without a type; const T* read-only ones too. Textures
/// and surfaces are unsigned long long.
template <class... P>
class PreparedFunction {
 public:
  /// Throws LogicError unless the kernel has such parameters.
  explicit PreparedFunction(Function function, std::size_t shared = 0)
      : function_(std::move(function)), shared_(shared) {
    const std::array<std::size_t, sizeof...(P)> sizes{sizeof(P)...};
    function_.require_parameters(sizes);
  }

  const Function& function() const { return function_; }  ///< the kernel

  ///@{
  /// Function::launch() in the current stream of the device or the arrays', in `stream`, or with
  /// the time that it takes. `shared` is that of prepare() if none is given.
  template <class... A>
  void prepared_call(const Dim3& grid, const Dim3& block, const A&... arguments) const {
    require_types<A...>();
    function_.launch({.grid = grid, .block = block, .shared = shared_}, convert<P>(arguments)...);
  }
  template <class... A>
  void prepared_async_call(const Dim3& grid, const Dim3& block, const Stream& stream,
                           const A&... arguments) const {
    require_types<A...>();
    function_.launch_in({.grid = grid, .block = block, .shared = shared_},
                        function_.checked(stream), convert<P>(arguments)...);
  }
  template <class... A>
  LaunchTimer prepared_timed_call(const Dim3& grid, const Dim3& block,
                                  const A&... arguments) const {
    require_types<A...>();
    return function_.timed_launch({.grid = grid, .block = block, .shared = shared_},
                                  convert<P>(arguments)...);
  }
  ///@}

 private:
  template <class A>
  static constexpr bool stands_for_another = !std::is_same_v<typename detail::PassedAs<A>::type, A>;
  /// A pointer takes arrays of its type; a value what converts to it without braces complaining.
  template <class T, class A>
  static constexpr bool takes = [] {
    if constexpr (detail::KernelObject<A>) {
      return std::is_same_v<T, unsigned long long> || std::is_same_v<T, std::uint64_t>;
    } else if constexpr (std::is_base_of_v<ArgumentHandler, A>) {
      return true;
    } else if constexpr (stands_for_another<A>) {
      return std::is_same_v<typename detail::PassedAs<A>::type, T>;
    } else if constexpr (!std::is_pointer_v<T>) {
      return std::is_convertible_v<A, T>;
    } else if constexpr (std::is_base_of_v<DeviceNDArrayBase, A>) {
      using E = std::remove_pointer_t<T>;
      return std::is_base_of_v<DeviceNDArray<std::remove_const_t<E>>, A> ||
             (std::is_const_v<E> && std::is_base_of_v<DeviceNDArray<E>, A>);
    } else {
      return DeviceMemory<A> || std::is_same_v<A, DevicePtr> || std::is_convertible_v<A, T>;
    }
  }();
  template <class... A>
  static constexpr void require_types() {
    static_assert(sizeof...(A) == sizeof...(P), "the kernel has another number of parameters");
    static_assert((takes<P, A> && ...), "an argument has another type than the kernel's parameter");
  }
  template <class T, class A>
  static decltype(auto) convert(const A& argument) {
    if constexpr (std::is_convertible_v<A, T> && !std::is_base_of_v<DeviceNDArrayBase, A> &&
                  !std::is_base_of_v<ArgumentHandler, A> && !stands_for_another<A>) {
      return static_cast<T>(argument);
    } else {
      return (argument);
    }
  }

  Function function_;
  std::size_t shared_;
};

template <class... P>
PreparedFunction<P...> Function::prepare(std::size_t shared) const {
  return PreparedFunction<P...>(*this, shared);
}

}  // namespace quarry
