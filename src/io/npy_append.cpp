// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/file_io.hpp"
#include "io/npy_array.hpp"
#include "io/npy_reader.hpp"

namespace quarry::detail {

namespace {

Shape with_rows(std::int64_t rows, const Shape& item) {
  Shape shape{rows};
  for (const std::int64_t extent : item) shape.push_back(extent);
  return shape;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

void create(const std::string& path, DType dtype, const Shape& shape) {
  npy::Writer file(path);
  file.Sink::write(npy::make_header(dtype, Order::c, shape));
  file.commit(false);
}

std::shared_ptr<npy::File> open(const std::string& path, DType dtype, const Shape& shape) {
  if (!exists(path)) create(path, dtype, shape);
  auto file = std::make_shared<npy::File>(npy::open_file(path, O_RDWR));
  if (::flock(file->descriptor(), LOCK_EX | LOCK_NB) == 0) return file;
  require<IoError>(errno != EWOULDBLOCK,
                   [&] { return path + ": another NpyAppender has the file open"; });
  npy::fail(path, "cannot be locked", errno);
}

void require_no_second_array(const npy::InputFile& file, std::uint64_t end) {
  std::array<std::byte, npy::magic.size()> next{};
  if (file.size() < end + next.size()) return;
  file.read(end, next);
  const bool is_array = std::ranges::equal(next, std::as_bytes(std::span(npy::magic)));
  require<LogicError>(!is_array, [&] {
    return file.path() + ": another array follows the first, and would be written over";
  });
}

}  // namespace

struct NpyAppend::State final : npy::Sink {
  State(const std::string& file_path, DType type, const Shape& row)
      : path(file_path), dtype(type), item(row), file(open(path, type, with_rows(0, row))) {
    const npy::InputFile input(path, file);
    const npy::Reader reader(std::make_unique<npy::FileContent>(input));
    npy::require_elements(reader, type);
    const npy::Header& found = reader.header();
    require<DTypeError>(npy::has_layout(found.descr, type) && !npy::swaps_bytes(found.descr), [&] {
      return fmt::format("{}: the elements lie in another way than {} in memory", path,
                         to_string(type));
    });
    const bool fits = !found.shape.empty() && with_rows(found.shape[0], row) == found.shape;
    require<ShapeError>(fits, [&] {
      return fmt::format("{}: holds shape {}, not rows of shape {}", path,
                         quarry::to_string(found.shape), quarry::to_string(row));
    });
    require<LogicError>(!found.fortran_order || row.empty(),
                        [&] { return path + ": Fortran order has no rows to append to"; });
    shape = found.shape;
    header_size = found.data_offset;
    end = found.data_offset + found.data_size;
    require_no_second_array(input, end);
  }

  void write(std::span<const std::byte> bytes) override {
    const int error = write_fully_at(file->descriptor(), at, bytes).error;
    if (error != 0) npy::fail(path, "cannot be written", error);
    at += bytes.size();
  }

  void append(const HostRef& rows) {
    const std::int64_t count = rows_in(rows.layout.shape);
    if (count == 0) return;
    Shape longer = shape;
    longer[0] = checked_add(longer[0], count);
    byte_count(longer, dtype.itemsize());  // throws SizeOverflow
    std::string text = named_header(longer);
    at = end;
    npy::write_elements(*this, rows);
    end = at;
    shape = longer;
    header = std::move(text);
  }

  void flush(bool sync) {
    if (header.empty()) return;
    if (sync && ::fsync(file->descriptor()) != 0) npy::fail(path, "cannot be written", errno);
    at = 0;
    write(std::as_bytes(std::span(header)));
    if (sync && ::fsync(file->descriptor()) != 0) npy::fail(path, "cannot be written", errno);
    header.clear();
  }

  /// Also removes what a failed append has left behind the rows.
  void finish(bool sync) {
    flush(sync);
    const npy::InputFile input(path, file);
    if (input.size() > end && ::ftruncate(file->descriptor(), off_t(end)) != 0)
      npy::fail(path, "cannot be cut", errno);
    const int error = file->close(sync);
    if (error != 0) npy::fail(path, "cannot be written", error);
  }

  std::int64_t rows_in(const Shape& rows) const {
    if (rows == item) return 1;
    const bool fits = !rows.empty() && with_rows(rows[0], item) == rows;
    require<ShapeError>(fits, [&] {
      return fmt::format("{}: cannot append shape {} to rows of shape {}", path,
                         quarry::to_string(rows), quarry::to_string(item));
    });
    return rows[0];
  }

  std::string named_header(const Shape& longer) const {
    try {
      return npy::make_header(dtype, Order::c, longer, header_size);
    } catch (const FormatError& e) {
      throw FormatError(path + ": " + e.what());
    }
  }

  std::string path;
  DType dtype;
  Shape item, shape;
  std::shared_ptr<npy::File> file;
  std::size_t header_size = 0;
  std::uint64_t end = 0;  ///< of the rows
  std::uint64_t at = 0;   ///< of the next write
  std::string header;     ///< to be written
};

NpyAppend::NpyAppend(const std::string& path, DType dtype, const Shape& item)
    : state_(std::make_unique<State>(path, dtype, item)) {}
NpyAppend::NpyAppend(NpyAppend&&) noexcept = default;
NpyAppend& NpyAppend::operator=(NpyAppend&& other) noexcept {
  NpyAppend(std::move(other)).state_.swap(state_);
  return *this;
}

NpyAppend::~NpyAppend() {
  if (!state_) return;
  try {
    state_->finish(false);
  } catch (const Error&) {  // close() tells
  }
}

const Shape& NpyAppend::shape() const {
  require<LogicError>(state_ != nullptr, "the NpyAppender is closed");
  return state_->shape;
}

void NpyAppend::append(const HostRef& rows) {
  shape();
  state_->append(rows);
}

void NpyAppend::append(const DeviceNDArrayBase& rows) {
  shape();
  state_->rows_in(rows.shape());
  append(npy::HostImage(rows, state_->path).ref());
}

void NpyAppend::flush(const SaveOptions& options) {
  shape();
  state_->flush(options.sync);
}

void NpyAppend::close(const SaveOptions& options) {
  const std::unique_ptr<State> state = std::exchange(state_, nullptr);
  if (state) state->finish(options.sync);
}

}  // namespace quarry::detail
