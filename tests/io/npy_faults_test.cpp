// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npz.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "file_faults.hpp"
#include "io/in_folder.hpp"

// Every call of the system that saving and loading make fails once, and from then on: the result is
// right or an IoError, the old file is whole, and nothing is left beside it.
namespace quarry {
namespace {

using test::FaultyFiles, test::FileFault, test::is_no_error, test::must_pass;

constexpr FileFault faults[] = {FileFault::io_error, FileFault::no_space, FileFault::interrupted,
                                FileFault::partial, FileFault::move_interrupted};

class NpyFaults : public test::WithFile {
 protected:
  NpyFaults() : WithFile("a.npy") {}

  std::vector<int> loaded() const {
    const auto array = load_npy<int>(path_);
    return {array.data(), array.data() + array.size()};
  }
};

std::vector<int> counted(std::size_t n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_F(NpyFaults, SavingGivesTheFileOrAnErrorAndTheOldFile) {
  const std::vector<int> before = counted(3), after = counted(50);
  for (const FileFault fault : faults) {
    for (const bool stays : {false, true}) {
      if (must_pass(fault) && stays) continue;  // a call that never goes through
      const int calls = test::for_every_call([&](int k) {
        save_npy(path_, before);
        std::optional<std::string> error;
        int hits = 0;
        {
          const FaultyFiles faulty(fault, k, stays);
          try {
            save_npy(path_, after, {.sync = true});
          } catch (const IoError& e) {
            error = e.what();
          }
          hits = faulty.hits();
        }
        EXPECT_EQ(loaded(), error ? before : after) << k;
        EXPECT_EQ(file_count(), 1u) << k;
        if (error) {
          EXPECT_NE(error->find(path_), std::string::npos) << *error;
          EXPECT_FALSE(is_no_error(fault)) << *error;
        }
        return hits;
      });
      EXPECT_GE(calls, is_no_error(fault) ? 2 : 6);
    }
  }
}

TEST_F(NpyFaults, ArchivesToo) {
  const std::vector<int> before = counted(3), after = counted(50);
  const auto loaded_from = [](const std::string& path) {
    const auto array = NpzFile(path).load_npy<int>("x");
    return std::vector<int>(array.data(), array.data() + array.size());
  };
  for (const FileFault fault : faults) {
    if (must_pass(fault)) continue;
    const auto attempt = [&](int k, const auto& f) {
      const FaultyFiles faulty(fault, k, false);
      bool failed = false;
      try {
        f();
      } catch (const IoError&) {
        failed = true;
        EXPECT_FALSE(is_no_error(fault));
      }
      return std::pair(failed, faulty.hits());
    };
    const int writes = test::for_every_call([&](int k) {
      savez_compressed(path_, {{"x", before}});
      const auto [failed, hits] = attempt(k, [&] {
        savez_compressed(path_, {{"x", after}}, {.sync = true});
      });
      EXPECT_EQ(loaded_from(path_), failed ? before : after) << k;
      EXPECT_EQ(file_count(), 1u) << k;
      return hits;
    });
    EXPECT_GE(writes, 5);
    const int reads = test::for_every_call([&](int k) {
      return attempt(k, [&] { EXPECT_EQ(loaded_from(path_), after) << k; }).second;
    });
    EXPECT_GE(reads, 5);
  }
}

TEST_F(NpyFaults, AFileThatGrowsIsAlwaysWhole) {
  const std::vector<int> rows = counted(50);
  for (const FileFault fault : faults) {
    for (const bool stays : {false, true}) {
      if (must_pass(fault) && stays) continue;
      const int calls = test::for_every_call([&](int k) {
        save_npy(path_, std::span(rows).first(10));
        std::size_t kept = 10;
        int hits = 0;
        {
          const FaultyFiles faulty(fault, k, stays);
          try {
            NpyAppender<int> file(path_);
            file.append(std::span(rows).subspan(10, 20));
            file.flush({.sync = true});
            kept = 30;
            file.append(std::span(rows).last(20));
            file.close({.sync = true});
            kept = 50;
          } catch (const IoError& e) {
            EXPECT_FALSE(is_no_error(fault)) << e.what();
            EXPECT_NE(std::string(e.what()).find(path_), std::string::npos) << e.what();
          }
          hits = faulty.hits();
        }
        const std::vector<int> now = loaded();
        EXPECT_GE(now.size(), kept) << k;  // what was not told to be there may be
        EXPECT_TRUE(std::equal(now.begin(), now.end(), rows.begin())) << k;
        EXPECT_EQ(file_count(), 1u) << k;
        return hits;
      });
      EXPECT_GE(calls, is_no_error(fault) ? 5 : 10);
    }
  }
}

TEST_F(NpyFaults, LoadingGivesTheArrayOrAnError) {
  const std::vector<int> values = counted(50);
  save_npy(path_, values);
  for (const FileFault fault : faults) {
    for (const bool stays : {false, true}) {
      if (must_pass(fault) && stays) continue;
      const int calls = test::for_every_call([&](int k) {
        const FaultyFiles faulty(fault, k, stays);
        try {
          EXPECT_EQ(loaded(), values) << k;
        } catch (const IoError&) {
          EXPECT_FALSE(is_no_error(fault)) << k;
        }
        return faulty.hits();
      });
      EXPECT_GE(calls, is_no_error(fault) ? 2 : 4);
    }
  }
}

}  // namespace
}  // namespace quarry
