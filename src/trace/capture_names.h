// Gives ids and names to what a recording speaks of, in the order in which its events come.
//
//   thread     main, T1, T2 "worker"          the system's name when it differs from the program's
//   variable   counter, table+24              a global, and how far in it
//              Account::balance@5581c0        a field, and the object that it is in
//              Shop::items_._M_finish+8@5581c0  a field of a container that is a field
//              values:5581c8                  a name, and the address, when the object is not known
//              5581c0                         memory that no name is known of
//   lock, …    the same, by the name at the call, or mutex@5581c0
//   label      Account::transfer              a function without its parameters
//              atomic-set S Account::balance  no function: what SYNDROME_ATOMIC_SET says
//   site       bank.cc:12:5 Account::transfer
// A name that comes again for another thing (memory that was freed and used again) ends in ~2, ~3 …

#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "event/mix_hash.h"
#include "event/names.h"
#include "trace/capture_meta.h"
#include "trace/capture_walk.h"

namespace syndrome::trace {

/// Whether a field of this name may be one of a container of the library, and not of a node.
[[nodiscard]] bool may_be_of_container(std::string_view field);

/// What objects_known_ of CaptureNames knows an object of a class by; 0: the site does not tell of
/// one. `name` is the site's.
[[nodiscard]] std::uint64_t object_key(const unit::Site& site, std::string_view name,
                                       std::uint64_t address);

class CaptureNames {
 public:
  explicit CaptureNames(const CaptureMeta& meta);

  /// The metadata has grown.
  void grow();

  [[nodiscard]] const Names& names() const { return names_; }

  [[nodiscard]] ThreadId thread(std::uint32_t number);

  /// `index` as ThreadWalk gives it: 1 + the site's, 0 for unknown.
  [[nodiscard]] SiteId site(std::uint32_t index) {
    if (index == 0) return {};
    const std::uint32_t id = site_ids_[index - 1];
    return id != 0 ? SiteId(id) : make_site(index);
  }

  [[nodiscard]] LabelId function(std::uint32_t function) {
    if (function == CaptureMeta::kNone) return unknown_function();
    const std::uint32_t id = function_ids_[function];
    return id != 0 ? LabelId(id) : make_function(function);
  }
  [[nodiscard]] LabelId label(std::string_view text);

  /// Whether a function that seems to be called from this site is not the one that the call is of:
  /// code without probes has called it.
  [[nodiscard]] bool is_called_back(std::uint32_t call, std::uint32_t function);

  /// A new variable: a segment at `segment` that an access at `address` from this site covers.
  /// `stack`: who runs, when that is known. It tells whose member a container of the library is.
  [[nodiscard]] VarId variable(std::uint32_t site, std::uint64_t address, std::uint64_t segment,
                               std::uint32_t generation, std::span<const OpenFrame> stack = {});

  /// An object of a class is there at some time (object_key).
  void know_object(std::uint64_t key) { objects_known_.insert(key); }

  /// Of the heap. `owner`: an address in the object that it will belong to; 0: none.
  void allocated(std::uint64_t address, std::uint64_t bytes, std::uint64_t owner);
  /// How many bytes were allocated there; 0: not known.
  std::uint64_t freed(std::uint64_t address);

  /// An object that a function works on.
  [[nodiscard]] ObjectId work_on(std::uint32_t site, std::uint64_t address, std::uint64_t bytes);

  /// The lock, barrier, … at the address, which is new when none is known there. `stack`: who runs.
  struct Object {
    std::uint32_t id = 0;
    std::uint32_t held = 0;  // how often a lock is taken
  };
  [[nodiscard]] Object& object(Space space, std::uint64_t address, std::uint32_t call,
                               std::span<const OpenFrame> stack);
  /// Objects in that memory are over, unless they are locks that someone holds.
  void forget_objects(std::uint64_t address, std::uint64_t bytes);

 private:
  [[nodiscard]] SiteId make_site(std::uint32_t index);
  [[nodiscard]] LabelId make_function(std::uint32_t function);
  [[nodiscard]] LabelId unknown_function();
  /// The function that a site belongs to.
  [[nodiscard]] const CapturedFunction& owner(std::uint32_t site) const {
    return meta_->functions[owners_[site]];
  }
  [[nodiscard]] std::string place_name(const CapturedGlobal& global, std::uint64_t address) const;
  /// The field that a container of the library is, and the object that has it.
  struct Member {
    std::string_view name;  // empty: not known
    std::uint64_t object = 0;
  };
  [[nodiscard]] Member member_of(const unit::Site& site, std::string_view name,
                                 std::uint64_t address, std::span<const OpenFrame> stack) const;
  [[nodiscard]] std::uint64_t region_of(std::uint64_t address) const;
  /// Where it is in Layout::regions; 0: in none.
  [[nodiscard]] std::uint32_t layout_region(std::uint64_t address);
  /// The step (CaptureMeta::program_site) has this id from now on: what it is connected with may be
  /// told.
  void connect(std::uint32_t step, SiteId id);

  struct Key {
    std::uint64_t address = 0;
    Space space = Space::kLock;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  const CaptureMeta* meta_;
  Names names_;
  std::vector<std::uint32_t> owners_;  // by site: its function
  std::vector<std::uint32_t> site_ids_;
  std::vector<std::uint32_t> function_ids_;
  /// What is_called_back() has found out last, by site.
  struct Called {
    std::uint32_t function = CaptureMeta::kNone;
    bool back = false;
  };
  std::vector<Called> called_;
  std::size_t set_members_told_ = 0;
  tsl::robin_map<std::uint32_t, std::uint32_t> thread_ids_;
  tsl::robin_map<std::string, std::uint32_t> labels_;
  tsl::robin_map<std::string, std::uint32_t> sites_;
  std::map<Key, Object> objects_;
  tsl::robin_map<std::string, std::uint32_t> object_names_;  // how often each was given
  tsl::robin_map<std::uint64_t, std::uint64_t, MixHash>
      fields_;                                            // hash of a field's name -> its address
  tsl::robin_set<std::uint64_t, MixHash> objects_known_;  // hashes of class and address
  struct Allocation {
    std::uint64_t bytes = 0;
    std::uint64_t owner = 0;
    std::uint32_t region = 0;  // in the layout, once a variable is there
  };
  std::map<std::uint64_t, Allocation> allocations_;
  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> global_regions_;  // by address
  tsl::robin_map<std::uint64_t, std::uint32_t, MixHash> worked_on_;       // hash of an object
  std::vector<std::uint32_t> step_ids_;     // by site: what connect() was told
  std::vector<std::uint32_t> flows_to_;     // indices of CaptureMeta::flows, by `to`
  std::size_t flows_known_ = 0;
  std::string text_;
};

}  // namespace syndrome::trace
