// What the planner knows of a program: for each function a control-flow graph whose nodes are the
// labels of the paper. The compiler pass writes it (instrument/summary.h), summary.h reads it,
// tests make their own.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syndrome::enforce {

using NodeId = std::uint32_t;

struct Node {
  enum class Kind : std::uint8_t {
    kBlock,   // the beginning of a basic block
    kAccess,  // to memory that threads may share
    kCall,
    kExit,  // the function returns, or an exception goes on
  };
  enum class LockOp : std::uint8_t { kNone, kAcquire, kRelease };

  Kind kind = Kind::kBlock;
  bool reads = false;
  bool writes = false;
  bool exact = false;         // a global variable itself: what the name stands for is one location
  bool indirect = false;      // a call through a pointer
  LockOp op = LockOp::kNone;  // of a call: what it does to a lock of the program
  std::string place;          // as traces name it; empty for blocks and exits
  std::string variable;       // of an access: "counter", "Account::balance"; empty: not known
  std::string lock;           // of a lock operation; empty: not known which
  std::string signature;      // of an indirect call: the callee's type; empty: not known
  std::vector<std::string> callees;  // linkage names
  std::vector<NodeId> next;
};

struct Function {
  std::string linkage;
  std::string name;  // as traces have it: demangled, with parameters
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t hash = 0;  // of its code, to tell when it has changed
  bool internal = false;   // static: other files may have another one of this name
  bool address_taken = false;
  std::string signature;
  std::vector<Node> nodes;  // the first one is the entry
};

struct Program {
  std::vector<Function> functions;
};

}  // namespace syndrome::enforce
