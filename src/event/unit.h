// What the compiler pass knows of a translation unit, as data in the program: functions, sites,
// strings. It stays as it is but for unit::kLiveBlock. The runtime copies it into the recording as
// it is; the reader takes it apart.
//
//   unit := Header Function[functions] Site[sites] Flow[flows] strings
//
// Everything is little-endian and 4-aligned; the unit itself is 16-aligned, and so is each Function
// (its address stands for it in the words, event/wire.h). A string is an offset from the beginning
// of the unit to text that ends in 0; offset 0 is "none". Depends on nothing.

#pragma once

#include <array>
#include <cstdint>

namespace syndrome::unit {

inline constexpr std::uint32_t kMagic = 0x554e5953;  // "SYNU"

struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t abi = 0;        // wire::kAbi
  std::uint32_t bytes = 0;      // of the whole unit
  std::uint32_t functions = 0;  // how many; they follow the header
  std::uint32_t sites = 0;      // how many; they follow the functions
  std::uint32_t name = 0;       // string: the source file as the compiler was given it
  std::uint32_t directory = 0;  // string: the compiler's working directory
  std::uint32_t flags = 0;      // UnitFlag
  std::uint32_t flows = 0;      // how many; they follow the sites
  std::array<std::uint32_t, 3> unused{};
};
static_assert(sizeof(Header) == 48);

enum UnitFlag : std::uint32_t {
  kFastMode = 1,     // probes after inlining
  kNoDebugInfo = 2,  // sites have no lines: the reader shows function and offset
};

struct Function {
  std::uint32_t name = 0;  // string: linkage name; demangled if the C++ library could not
  std::uint32_t file = 0;  // string
  std::uint32_t line = 0;
  std::uint32_t first = 0;  // its first site; site number n of the words is sites[first + n - 1]
  std::uint32_t sites = 0;  // how many
  std::uint32_t flags = 0;  // FunctionFlag
  std::uint32_t label = 0;  // string: SYNDROME_UNIT's sets, separated by commas
  std::uint32_t hash = 0;   // of its code before instrumentation, to refuse a stale profile
};
static_assert(sizeof(Function) == 32);

enum FunctionFlag : std::uint32_t {
  kAtomic = 1,         // SYNDROME_ATOMIC
  kDeterministic = 2,  // SYNDROME_DETERMINISTIC
  kUnitOfWork = 4,     // SYNDROME_UNIT
  kSystem = 8,         // from a system header
  kLeafOnly = 16,      // entered with wire::Control::kLeaf
  kSetMember = 32,     // no function: SYNDROME_ATOMIC_SET; `name` is the variable or field
                       // ("counter", "Account::balance"), `label` the set
  // Set by the runtime in a program that is checked while it runs.
  kLiveAtomic = 0x40,  // an atomic block
  kLiveBlock = 0x80,   // a block
  kLiveSent = 0x100,   // and one run of it is in the trace (runtime/draft.h)
};

enum class SiteKind : std::uint8_t {
  kRead = 0,
  kWrite = 1,
  kReadWrite = 2,  // a read directly followed by a write of the same bytes (x++)
  kCall = 3,       // a call; no access
  kAtomic = 4,     // the runtime's word says which
  kRangeRead = 5,  // memory intrinsics; bytes 0: the word gives the length
  kRangeWrite = 6,
  /// No access: the word that follows the function's kEnter gives the address of an object that it
  /// works on, what `this` or a parameter points to; `bytes` is its size, `name` its type.
  kObject = 7,
};

struct Site {
  std::uint32_t file = 0;  // string
  std::uint32_t line = 0;  // 0: unknown
  std::uint16_t column = 0;
  SiteKind kind = SiteKind::kRead;
  std::uint8_t flags = 0;      // SiteFlag
  std::uint32_t name = 0;      // string: "counter", "Account::balance"; of a call: what the first
                               // pointer argument with a name, std::lock_guard and its like left
                               // out, points to ("Account::mutex")
  std::uint32_t function = 0;  // string: linkage name where the line stands, when inlining has
                               // moved it into the Function; 0: the Function itself
  std::uint32_t bytes = 0;  // how many are accessed; of a call, string: the function that it calls,
                            // 0 when that is not known
  std::int32_t offset = 0;  // of the access in the object that `name` is a field of
  std::uint32_t inlined = 0;  // 1 + index (in sites) of the call that was inlined; 0: none
};
static_assert(sizeof(Site) == 32);

enum SiteFlag : std::uint8_t {
  kVolatile = 1,
  kHasOffset = 2,   // `offset` is known: address - offset is the instance
  kAmbiguous = 4,   // a union or bit-field: the name is one of several
  kSystemSite = 8,  // the line is in a system header
  // Of calls that nothing which is told comes behind, until the function returns:
  kLastCall = 16,     // of a function of the same unit, which tells of itself
  kLastRelease = 32,  // of pthread_mutex_unlock and its like
  /// What is read there (of a call: what it returns) reaches the function's result, or memory that
  /// its caller gave it for results.
  kReachesResult = 64,
  /// A parameter of the function that is no pointer is part of where this goes, of what is called,
  /// or decides whether it happens.
  kSteered = 128,
};

/// How two steps of one function are connected, by its text alone (docs/units.md). A step is an
/// access of the function itself or a call in it; what was inlined from a library's header is part
/// of the call that it was inlined at (Site::inlined). Sorted by (from, to), each pair once.
struct Flow {
  std::uint32_t from = 0;  // index of a site in the unit; the step that comes first
  std::uint32_t to = 0;    // likewise, of the same function
  std::uint32_t how = 0;   // FlowHow, or-ed
};
static_assert(sizeof(Flow) == 12);

enum FlowHow : std::uint32_t {
  /// What `from` reads or returns is part of what `to` writes or is called with.
  kFlowData = 1,
  /// It is part of the address that `to` accesses, or a pointer that it is called with.
  kFlowAddress = 2,
  /// It decides whether `to` happens.
  kFlowControl = 4,
  /// What both read is put together: in arithmetic, a comparison or a result.
  kFlowJoined = 8,
  /// What both write comes from one source that is no pointer.
  kFlowSource = 16,
  /// `from` is a call that returns something, and it is used by `to` as in kFlowData or
  /// kFlowControl; of a `from` that writes.
  kFlowResult = 32,
  /// `to` looks again itself: it is a compare-and-swap that compares with what `from` read, or it
  /// inserts a key unless it is there. It is not connected by data or control then.
  kFlowCompared = 64,
  /// All that flows as kFlowData is a pointer.
  kFlowPointer = 128,
  /// With kFlowControl: `to` writes a constant, or what `from` was compared with for equality.
  kFlowConstant = 256,
  /// `from` reads a place, what it reads is used, and `to` writes a constant there.
  kFlowReset = 512,
  /// `from` reads and writes a place at once, without a use for what it read; `to` reads it again.
  kFlowReread = 1024,
  /// With kFlowControl: whether `to` happens, and not only which value it has.
  kFlowDecides = 2048,
};

}  // namespace syndrome::unit
