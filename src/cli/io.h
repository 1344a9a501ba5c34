// What the subcommands share in talking to the outside.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "event/result.h"
#include "trace/sink.h"

namespace syndrome::cli {

/// "syndrome: …" on standard error.
void complain(std::string_view message);
/// "syndrome: FILE: …"
void complain(std::string_view file, const Error& error);
void warn(std::string_view file, std::string_view warning);

/// Whether a person looks at the stream and wants colour; `when` is auto, always or never.
[[nodiscard]] bool wants_colour(std::string_view when, int descriptor);

/// The whole text to standard output now, or why not.
[[nodiscard]] Status write_stdout(std::string_view text);
/// Lines that have names of a trace or a program in them, for people: what would act on the display
/// is replaced (event/clean.h).
[[nodiscard]] Status print_lines(std::string_view text);
/// Likewise to standard output or standard error.
[[nodiscard]] Status write_to(int stream, std::string_view text);

/// The whole text into a file, which gets its name when it is complete; "-" or "" is standard
/// output. What is not a plain file (a device, a pipe) is written to directly.
[[nodiscard]] Status write_file(const std::string& path, std::string_view text);

/// A whole file; "-" is standard input. An error when it is larger than `most` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t most);

/// Far more than a person would read; a larger file is not a list of findings.
inline constexpr std::size_t kMostFindingsBytes = std::size_t{1} << 28U;

/// Whether both names lead to one file.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

/// A writer for a trace file. The format is `to` ("syn" or "std"), or by the file's suffix when
/// that is empty.
[[nodiscard]] Result<std::unique_ptr<trace::Sink>> open_sink(const std::string& path,
                                                             const std::string& to);

/// The most memory that this process has had, in bytes.
[[nodiscard]] std::uint64_t peak_memory();

}  // namespace syndrome::cli
