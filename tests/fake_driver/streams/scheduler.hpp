// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/kernels/early_reads.hpp"
#include "fake_driver/streams/shared_event.hpp"

/// Queues of operations and the orders in which they may run. Every operation has a ticket, its
/// place in the order in which the program queued it; what an operation waits for always has a
/// smaller one.
namespace quarry::fake {

/// One call of cuEventRecord.
struct Mark {
  bool is_done = false;
  double time_ms = 0;
  std::shared_ptr<SharedEvent> shared = nullptr;  ///< of events that processes share
  std::uint64_t number = 0;                       ///< of the recording of a shared event
  bool is_elsewhere = false;  ///< another process has recorded it: it alone knows when it is done
};

struct Operation {
  std::function<CUresult()> work;  ///< runs without the scheduler's lock
  std::shared_ptr<Mark> wait_for;  ///< runs no earlier than this
  std::shared_ptr<Mark> mark;      ///< set when done
  CUhostFn host_function = nullptr;
  std::shared_ptr<const KernelAccess> kernel;  ///< of a kernel of Quarry's
  void* state = nullptr;
  double cost_ms = 0.001;  ///< in the virtual time that events measure
  std::uint64_t ticket = 0;
  double queued_ms = 0;  ///< real time at which it was queued: it cannot have run before
};

struct Capture;

enum class StreamKind { legacy, blocking, non_blocking };

struct Queue {
  Queue(int on, StreamKind is) : device(on), kind(is) {}
  int device;
  StreamKind kind;
  bool is_running = false, is_destroyed = false;
  std::deque<Operation> waiting;  ///< the first one may be running
  ///@{
  /// Under the state's lock.
  std::shared_ptr<Capture> capture;  ///< that operations go into instead
  UnfinishedWork unfinished;
  ///@}
};

class Scheduler {
 public:
  void set(const Behaviour& behaviour);
  Behaviour behaviour() const;

  std::shared_ptr<Queue> make(int device, StreamKind kind);
  /// What is queued still runs; then the queue goes.
  void destroy(Queue& queue);

  void add(Queue& queue, Operation operation);
  /// Returns when all that has been queued there so far has run.
  void finish(Queue& queue);
  void finish_device(int device);
  void finish_all();
  void finish(const Mark& mark);
  /// May run one operation; whether the queue is empty, the mark is reached.
  bool poll(Queue& queue);
  bool poll(const Mark& mark);
  bool poll_blocking(int device);  ///< of all queues but the non-blocking ones
  bool is_done(const Mark& mark);
  /// Runs work on the worker until the mark is reached: another process may wait for it.
  void hurry(std::shared_ptr<Mark> mark);
  void expect_others();    ///< from now on other processes' marks may be waited for
  std::uint64_t random();  ///< of the seed's sequence

  void drop(int device);  ///< forgets the device's queues, once what is running has ended
  CUresult sticky(int device) const;
  void clear_sticky(int device);
  std::size_t pending() const;
  std::int64_t operations() const;

  static bool in_host_function();

 private:
  using Lock = std::unique_lock<std::mutex>;
  bool may_run(const Queue& queue) const;
  Queue* pick();
  bool step(Lock& lock);
  void run(Lock& lock, Queue& queue);
  void complete(Queue& queue, CUresult result);
  void start_worker();
  void work();
  void poll_step(Lock& lock);
  void wait(Lock& lock, std::condition_variable& condition);
  bool is_hurried();
  template <class Done>
  void until(Lock& lock, Done done);
  template <class Chosen>
  void finish_where(Chosen chosen);
  std::size_t pending_locked() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_, work_to_do_;
  Behaviour behaviour_;
  std::mt19937_64 random_{1};
  std::vector<std::shared_ptr<Queue>> queues_;
  std::deque<std::shared_ptr<Queue>> host_functions_;
  std::vector<CUresult> sticky_;
  std::uint64_t next_ticket_ = 1;
  std::int64_t operations_ = 0;
  double now_ms_ = 0;
  std::vector<std::shared_ptr<Mark>> hurried_;
  bool has_worker_ = false, has_others_ = false;
};

}  // namespace quarry::fake
