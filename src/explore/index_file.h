// The index of a trace as a file.
//
//   file     := signature(8) version:u32 0:u32 raw:u64 stored:u64 checksum:u64 zstd-frame(stored)
//
// `checksum` is XXH3 of the fields before it and of the frame. What the frame unpacks to is a row
// of varints (index_file.cc says which) that begin with the identity of the trace. The file may be
// anybody's: every length is held to its bounds, and what the counts say is held against the number
// of events. A file that is damaged, of another version or of another trace is none: then the index
// is built again.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"
#include "explore/index.h"

namespace syndrome::explore {

/// Which file it is, and that it has not changed since.
struct Identity {
  std::uint64_t bytes = 0;
  std::uint64_t seconds = 0;  // of its last change
  std::uint64_t nanoseconds = 0;
  std::uint64_t content = 0;  // hash of its first and last 64 KiB
  friend bool operator==(const Identity&, const Identity&) = default;
};
/// Of a regular file.
[[nodiscard]] Result<Identity> identity_of(const std::string& path);

/// What an index file has: the index, and of which files. `copy` is the file that has the events,
/// when the trace itself is none that single events can be read from.
struct IndexFile {
  Identity trace;
  bool has_copy = false;
  Identity copy;
  Index index;
};

[[nodiscard]] std::string encode(const IndexFile& file);
[[nodiscard]] Result<IndexFile> decode(std::string_view bytes);

/// What the file's frame unpacks to, without signature and checksum.
[[nodiscard]] std::vector<std::byte> pack(const IndexFile& file);
[[nodiscard]] Result<IndexFile> unpack(std::span<const std::byte> row);

/// Far more than an index has: 64 bytes for each count and wait.
inline constexpr std::uint64_t kMostIndexBytes = std::uint64_t{1} << 30U;

/// Where an index may be: beside the trace, or, where that cannot be written to, in the user's
/// cache ($XDG_CACHE_HOME, or ~/.cache). Empty when there is no such folder.
[[nodiscard]] std::string index_beside(const std::string& trace);
[[nodiscard]] std::string index_in_cache(const std::string& trace);
/// The copy of the events that belongs to an index file.
[[nodiscard]] std::string copy_of(const std::string& index_path);

/// Only what the owner of the trace, root or this user has made, and nobody else can write to:
/// whoever can write into the trace's folder could otherwise say what is in the trace. No symbolic
/// link.
[[nodiscard]] Result<IndexFile> load(const std::string& path, const std::string& trace);
/// The file gets its name when it is complete; a symbolic link of that name goes. Who may not read
/// the trace may not read the index.
[[nodiscard]] Status save(const IndexFile& file, const std::string& path, const std::string& trace);

/// The mode of what is made of a trace and kept.
[[nodiscard]] mode_t mode_like(const std::string& trace);

}  // namespace syndrome::explore
