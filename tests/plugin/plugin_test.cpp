// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <quarry/quarry.hpp>
#include <quarry/runtime/kernel_cache.hpp>

#include "backend/backend.hpp"
#include "fake_driver/test_device.hpp"
#include "gate.hpp"

/// Shared objects with expressions of their own come and go; the library keeps nothing that lies in
/// one, and takes none for another that lies where it was.
namespace quarry {
namespace {

using Array = DeviceNDArray<double>;

class Plugin {
 public:
  explicit Plugin(const char* path) : path_(path), handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Plugin() { close(); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  void map(const Array& to, const Array& x) const {
    reinterpret_cast<void (*)(const Array&, const Array&)>(find("map_values"))(to, x);
  }
  double sum(const Array& x) const {
    return reinterpret_cast<double (*)(const Array&)>(find("sum_values"))(x);
  }
  /// Where it lies.
  const void* place() const { return find("map_values"); }
  void close() {
    if (handle_) dlclose(handle_);
    handle_ = nullptr;
  }
  bool is_loaded() const {
    void* const again = dlopen(path_, RTLD_NOW | RTLD_NOLOAD);
    if (again) dlclose(again);
    return again != nullptr;
  }

 private:
  void* find(const char* name) const { return dlsym(handle_, name); }
  const char* path_;
  void* handle_;
};

constexpr const char* paths[] = {PLUGIN_0, PLUGIN_1};
constexpr double factors[] = {3, 1, -1};  ///< value(x) / x

TEST(Plugins, ComeAndGo) {
  const auto x = arange<double>(0, 1000);
  const Array to(x.shape());
  std::vector<std::set<const void*>> places(2);
  for (int round = 0; round < 8; ++round) {
    const auto which = static_cast<std::size_t>(round % 2);
    Plugin plugin(paths[which]);
    places[which].insert(plugin.place());
    plugin.map(to, x);
    EXPECT_EQ(plugin.sum(x), factors[which] * 499500) << "round " << round;
    synchronize();
    plugin.close();
    ASSERT_FALSE(plugin.is_loaded()) << "nothing is tested";
    EXPECT_EQ(sum(to).item(), factors[which] * 499500) << "round " << round;
    for (const std::string& name : compiled_kernels()) EXPECT_NE(name.find('<'), name.npos);
  }
  std::vector<const void*> both;
  std::ranges::set_intersection(places[0], places[1], std::back_inserter(both));
  EXPECT_FALSE(both.empty()) << "never was one loaded where the other had been";
}

TEST(Plugins, FindTheKernelsThatTheyHadBefore) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "nothing is compiled";
  const auto x = arange<double>(0, 1000);
  const Array to(x.shape());
  const auto use = [&] {
    const Plugin plugin(paths[0]);
    plugin.map(to, x);
    synchronize();
  };
  use();
  const auto before = backend::kernel_cache_statistics();
  for (int round = 0; round < 3; ++round) use();
  const auto after = backend::kernel_cache_statistics();
  EXPECT_EQ(after.compiled, before.compiled);
  EXPECT_EQ(after.disk_hits, before.disk_hits);
}

TEST(Plugins, WorkThatIsQueuedRunsAfterTheyAreClosed) {
  if (test::kind() == test::Kind::fake) GTEST_SKIP() << "the fake driver runs the plugin's loops";
  const Stream s = stream();
  const auto x = arange<double>(0, 1000).bind(s);
  const Array to = zeros<double>({1000}).bind(s);
  if (test::kind() == test::Kind::cuda) Plugin(PLUGIN_2).map(to, x);  // loads the kernel
  s.synchronize();
  test::Gate gate(s);
  {
    const StreamGuard guard(s);
    Plugin(PLUGIN_2).map(to, x);
  }
  gate.open();
  s.synchronize();
  EXPECT_EQ(sum(to).item(), factors[2] * 499500);
}

}  // namespace
}  // namespace quarry
