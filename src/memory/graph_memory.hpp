// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "runtime/left_work.hpp"

namespace quarry::detail {

/// A check of captured work.
struct LaunchCheck {
  LaunchCheck() = default;
  LaunchCheck(const LaunchCheck&) = delete;
  LaunchCheck& operator=(const LaunchCheck&) = delete;
  virtual ~LaunchCheck() = default;
  /// Throws the error that a launch has found, once.
  virtual void rethrow() = 0;
};

/// What the checks of one graph find in its launches.
class LeftByGraph final : public LeftForHost {
 public:
  void add(std::unique_ptr<LaunchCheck> check);
  bool has_checks() const;
  void rethrow() override;
  bool is_settled() const noexcept override;
  /// The last launch is done: keeps what has been found, and destroys the checks.
  void settle() noexcept;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<LaunchCheck>> checks_;
  std::vector<std::exception_ptr> found_;
  bool is_over_ = false;
};

/// What GraphMemory points to. Collects from the constructor to end().
struct GraphMemoryState {
  /// Throws LogicError if the stream has one that has not ended.
  explicit GraphMemoryState(const Stream& captured);
  /// After the last launch.
  ~GraphMemoryState() {
    end();
    if (left) left->settle();
  }
  GraphMemoryState(const GraphMemoryState&) = delete;
  GraphMemoryState& operator=(const GraphMemoryState&) = delete;

  void end() noexcept;
  /// The streams of captures in which arrays were made that are still there: nobody but the library
  /// can name them. After end().
  std::vector<Stream> homes_of_captures() const;

  std::optional<Stream> stream;            ///< until the end
  std::set<std::shared_ptr<Buffer>> kept;  ///< destroyed without the lock
  std::shared_ptr<LeftByGraph> left;       ///< nullptr: nobody looks at it
};

/// The object that collects for the stream, if any, keeps an empty buffer, which takes over
/// the memory of another one when that ends. Throws std::bad_alloc.
void keep_for_graph(const StreamState& stream, const std::shared_ptr<Buffer>& kept);

/// Of a stream whose work is captured: throws LogicError where the program launches the graph
/// itself, so that the host would not look at its checks.
void require_checked_launches(const StreamState& stream);
/// Of work that is captured in such a stream: the host looks at the check after launches.
void check_launches(const StreamState& stream, std::unique_ptr<LaunchCheck> check);

/// Of a copy in `stream` between a device and host memory, of which `page_locked` is what the
/// library knows. A graph accesses the memory at every launch: throws LogicError if the stream is
/// captured and the graph cannot keep the memory, which is the program's own.
void require_kept_if_captured(const StreamState& stream,
                              const std::shared_ptr<Buffer>& page_locked);

}  // namespace quarry::detail
