// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/cuda_mr.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include <quarry/memory/statistics.hpp>

namespace quarry {
namespace {

namespace mr = ::cuda::mr;

/// A resource as a user of CCCL writes one; its memory is Quarry's, so that kernels can use it.
class Foreign {
 public:
  struct Log {
    std::map<void*, std::size_t> live;
    int allocations = 0;
    std::uintptr_t stream = 0;
    bool is_empty = false;  ///< has no memory
  };
  explicit Foreign(Log* log) : log_(log) {}

  void* take(::cuda::stream_ref stream, std::size_t bytes, std::size_t alignment) {
    if (log_->is_empty) throw std::bad_alloc();
    void* const memory = device_resource().allocate(default_stream(), bytes, alignment);
    log_->live[memory] = bytes;
    log_->stream = reinterpret_cast<std::uintptr_t>(stream.get());
    ++log_->allocations;
    return memory;
  }
  void give(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
    EXPECT_EQ(log_->live[memory], bytes);
    log_->live.erase(memory);
    device_resource().deallocate(default_stream(), memory, bytes, alignment);
  }
#if CCCL_VERSION >= 3001000
  void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t alignment) {
    return take(stream, bytes, alignment);
  }
  void deallocate(::cuda::stream_ref, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    give(memory, bytes, alignment);
  }
  void* allocate_sync(std::size_t bytes, std::size_t alignment) {
    return take(::cuda::stream_ref(::cudaStream_t{}), bytes, alignment);
  }
  void deallocate_sync(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
    give(memory, bytes, alignment);
  }
#else
  void* allocate_async(std::size_t bytes, std::size_t alignment, ::cuda::stream_ref stream) {
    return take(stream, bytes, alignment);
  }
  void deallocate_async(void* memory, std::size_t bytes, std::size_t alignment,
                        ::cuda::stream_ref) noexcept {
    give(memory, bytes, alignment);
  }
  void* allocate(std::size_t bytes, std::size_t alignment) {
    return take(::cuda::stream_ref(), bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
    give(memory, bytes, alignment);
  }
#endif
  friend bool operator==(const Foreign& a, const Foreign& b) { return a.log_ == b.log_; }
  [[maybe_unused]] friend void get_property(const Foreign&, mr::device_accessible) noexcept {}

 private:
  Log* log_;
};

static_assert(CudaResource<Foreign>);
static_assert(CudaResource<CudaMr>);
static_assert(CudaResource<CudaHostMr>);
static_assert(!CudaResource<BasicCudaMr<mr::host_accessible>>);
static_assert(MemoryResource<detail::FromCudaMr<Foreign>>);
#if CCCL_VERSION >= 3001000
static_assert(mr::resource_with<CudaHostMr, mr::device_accessible, mr::host_accessible>);
static_assert(mr::synchronous_resource_with<CudaMr, mr::device_accessible>);
#else
static_assert(mr::async_resource_with<CudaHostMr, mr::device_accessible, mr::host_accessible>);
static_assert(mr::resource_with<CudaMr, mr::device_accessible>);
#endif
static_assert(!::cuda::has_property<CudaMr, mr::host_accessible>);

TEST(CudaMr, ArraysComeFromAForeignResource) {
  Foreign::Log log;
  {
    const ResourceGuard guard(from_cuda_mr(Foreign(&log)));
    const Stream s = stream();
    const StreamGuard in_stream(s);
    auto a = arange<float>(1000);
    EXPECT_EQ(log.stream, s.handle());
    a += 1;
    EXPECT_EQ(sum(a).item(), 500500.f);
    EXPECT_FALSE(log.live.empty());
  }
  EXPECT_GE(log.allocations, 1);
  EXPECT_TRUE(log.live.empty());
}

TEST(CudaMr, NoMemoryIsAMemoryError) {
  Foreign::Log log;
  log.is_empty = true;
  const Resource resource = from_cuda_mr(Foreign(&log));
  try {
    resource.allocate(default_stream(), 1024);
    FAIL() << "no exception";
  } catch (const MemoryError& e) {
    EXPECT_EQ(e.report().requested, 1024u);
  }
}

/// What generic code of CCCL does with a resource.
template <class R>
void use(R& resource, ::cuda::stream_ref stream) {
#if CCCL_VERSION >= 3001000
  void* const a = resource.allocate(stream, 1000, 256);
  void* const b = resource.allocate_sync(2000, 256);
  EXPECT_NE(a, b);
  resource.deallocate(stream, a, 1000, 256);
  resource.deallocate_sync(b, 2000, 256);
#else
  void* const a = resource.allocate_async(1000, 256, stream);
  void* const b = resource.allocate(2000, 256);
  EXPECT_NE(a, b);
  resource.deallocate_async(a, 1000, 256, stream);
  resource.deallocate(b, 2000, 256);
#endif
}

TEST(CudaMr, GivesMemoryOfQuarry) {
  const Statistics counted(Pool::of(get_current_device()));
  CudaMr resource(counted);
  const Stream s = stream();
  use(resource, ::cuda::stream_ref(reinterpret_cast<::cudaStream_t>(s.handle())));
  const auto seen = counted.statistics();
  EXPECT_EQ(seen.bytes, (Tally{0, 3000, 3000}));
  EXPECT_EQ(seen.allocations.total, 2);
}

TEST(CudaMr, AStreamMayEndWhenItsMemoryIsBack) {
  CudaMr resource(Pool::of(get_current_device()));
  for (int turn = 0; turn < 3; ++turn) {
    const Stream s = stream();
    const ::cuda::stream_ref reference(reinterpret_cast<::cudaStream_t>(s.handle()));
    void* const a = resource.allocate(reference, 5000);
    void* const b = resource.allocate(reference, 7000);
    EXPECT_NE(a, b);
    resource.deallocate(reference, b, 7000);
    resource.deallocate(reference, a, 5000);
  }
  trim_pool(get_current_device());
}

TEST(CudaMr, BothSpellingsReachTheSameMemory) {
  const Statistics counted(device_resource());
  CudaMr resource(counted);
  const ::cuda::stream_ref none{::cudaStream_t{}};
  resource.deallocate(none, resource.allocate_async(100, 256, none), 100, 256);
  resource.deallocate_async(resource.allocate(none, 100), 100, none);
  resource.deallocate_async(resource.allocate_async(100, none), 100, 256, none);
  resource.deallocate(resource.allocate_sync(100), 100);
  resource.deallocate_sync(resource.allocate(100), 100);
  EXPECT_EQ(counted.statistics().allocations, (Tally{0, 1, 5}));
}

TEST(CudaMr, KeepsNoMemoryIfWorkQueuedBeforeHasFailed) {
  const Statistics counted(device_resource());
  CudaMr resource(counted);
  default_stream().add_callback([](const Stream&) { throw std::runtime_error("late"); });
  EXPECT_THROW(resource.allocate_sync(100), std::runtime_error);
  EXPECT_EQ(counted.statistics().allocations, (Tally{0, 1, 1}));
}

TEST(CudaMr, StandsInAnErasedReference) {
  CudaMr resource(Pool::of(get_current_device()));
#if CCCL_VERSION >= 3001000
  mr::resource_ref<mr::device_accessible> reference(resource);
#else
  mr::async_resource_ref<mr::device_accessible> reference(resource);
#endif
  use(reference, ::cuda::stream_ref(::cudaStream_t{}));
}

TEST(CudaMr, CopiesAreEqualAndOthersAreNot) {
  const CudaMr a(device_resource());
  const CudaMr copy = a;
  EXPECT_TRUE(a == copy);
  EXPECT_FALSE(a == CudaMr(device_resource()));
}

TEST(CudaMr, RefusesMemoryThatIsNotAsItsPropertiesSay) {
  EXPECT_THROW(CudaMr{pinned_resource()}, LogicError);
  EXPECT_THROW(CudaHostMr{device_resource()}, LogicError);
  EXPECT_NO_THROW(CudaHostMr{mapped_resource()});
}

}  // namespace
}  // namespace quarry
