// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <map>
#include <string>
#include <vector>

/// Programs that this test program runs in a process of their own: how they end is what is tested.
namespace quarry::test {

/// How a process ended.
struct Ending {
  int code = 0;            ///< of exit, if it was no signal
  int signal = 0;          ///< that ended it
  bool timed_out = false;  ///< it was killed by run_child, and all that it had started
  bool operator==(const Ending&) const = default;
};
std::string to_string(const Ending& ending);

/// What a child does instead of tests. Its value is that of its main().
struct Program {
  const char* name;
  int (*run)();
  Ending expected = {};
  /// On the fake driver host functions run in the calls of the program unless this is set.
  bool in_background = false;
};

/// Each file of programs has its list.
std::vector<Program> context_programs();
std::vector<Program> environment_programs();
std::vector<Program> exit_programs();
std::vector<Program> fork_programs();
std::vector<Program> fork_use_programs();
std::vector<Program> lost_programs();
std::vector<Program> thread_programs();
std::vector<Program> upload_programs();
std::vector<Program> all_programs();

/// From now on so many threads can be started in this process. False where a sanitizer has taken
/// that function.
bool allow_threads(int count);

/// Writes the calling thread's stack to stderr.
void report_stack(const char* what);
/// From now on SIGQUIT, which a process gets that does not end, makes this one report its stack and
/// end; processes that it forks, too.
void report_stack_on_quit();

/// In the scope this process, which was forked, ends if it locks a mutex: a thread that it has not
/// may hold it. It says where it did. Nothing happens where a sanitizer has taken those functions.
class NoLocks {
 public:
  NoLocks();
  ~NoLocks();
  NoLocks(const NoLocks&) = delete;
  NoLocks& operator=(const NoLocks&) = delete;
};

struct Outcome {
  Ending ending;
  std::string output;  ///< stdout and stderr
};

/// Runs a command and waits for its end, at most a minute; the settings are added to the
/// environment.
Outcome run_command(const std::vector<std::string>& command,
                    const std::map<std::string, std::string>& settings = {});
/// Runs the program of this name.
Outcome run_child(const Program& program);
/// The command that runs it, for programs that start others.
std::vector<std::string> command_of(const char* name);

}  // namespace quarry::test
