#include "instrument/unit_builder.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Type.h>

#include <cstring>

#include "event/wire.h"

namespace syndrome::instrument {

UnitBuilder::UnitBuilder(llvm::Module& module)
    : module_(module),
      placeholder_(new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(module.getContext()),
                                            true, llvm::GlobalValue::ExternalLinkage, nullptr,
                                            "syndrome.unit.placeholder")) {}

std::uint32_t UnitBuilder::string(llvm::StringRef text) {
  if (text.empty()) return 0;
  const auto [at, added] = handles_.try_emplace(text, 0);
  if (added) {
    at->second = static_cast<std::uint32_t>(strings_.size()) + 1;
    strings_.append(text.begin(), text.end());
    strings_.push_back('\0');
  }
  return at->second;
}

std::uint32_t UnitBuilder::begin_function(const unit::Function& function) {
  functions_.push_back(function);
  functions_.back().first = static_cast<std::uint32_t>(sites_.size());
  functions_.back().sites = 0;
  return static_cast<std::uint32_t>(functions_.size()) - 1;
}

std::uint32_t UnitBuilder::add_site(const unit::Site& site) {
  sites_.push_back(site);
  return ++functions_.back().sites;
}

std::uint32_t UnitBuilder::reference(std::uint32_t number) const {
  return functions_.back().first + number;
}

unit::Site& UnitBuilder::site(std::uint32_t number) {
  return sites_[functions_.back().first + number - 1];
}

void UnitBuilder::add_flow(std::uint32_t from, std::uint32_t to, std::uint32_t how) {
  const std::uint32_t first = functions_.back().first;
  flows_[{first + from - 1, first + to - 1}] |= how;
}

llvm::Constant* UnitBuilder::address_of(std::uint32_t function) const {
  llvm::LLVMContext& context = module_.getContext();
  const std::uint64_t offset = sizeof(unit::Header) + function * sizeof(unit::Function);
  return llvm::ConstantExpr::getGetElementPtr(
      llvm::Type::getInt8Ty(context), placeholder_,
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), offset));
}

std::uint32_t UnitBuilder::offset_of(std::uint32_t handle) const {
  if (handle == 0) return 0;
  const std::size_t base = sizeof(unit::Header) + functions_.size() * sizeof(unit::Function) +
                           sites_.size() * sizeof(unit::Site) + flows_.size() * sizeof(unit::Flow);
  return static_cast<std::uint32_t>(base) + handle - 1;
}

llvm::GlobalVariable* UnitBuilder::finish(std::uint32_t name, std::uint32_t directory,
                                          std::uint32_t flags) {
  for (unit::Function& function : functions_) {
    function.name = offset_of(function.name);
    function.file = offset_of(function.file);
    function.label = offset_of(function.label);
  }
  for (unit::Site& site : sites_) {
    site.file = offset_of(site.file);
    site.name = offset_of(site.name);
    site.function = offset_of(site.function);
    if (site.kind == unit::SiteKind::kCall) site.bytes = offset_of(site.bytes);
  }
  unit::Header header;
  header.abi = wire::kAbi;
  header.functions = static_cast<std::uint32_t>(functions_.size());
  header.sites = static_cast<std::uint32_t>(sites_.size());
  header.name = offset_of(name);
  header.directory = offset_of(directory);
  header.flags = flags;
  header.flows = static_cast<std::uint32_t>(flows_.size());
  // A multiple of 8, as the records of the metadata are (event/wire.h).
  while ((offset_of(1) + strings_.size()) % 8 != 0) strings_.push_back('\0');
  header.bytes = offset_of(1) + static_cast<std::uint32_t>(strings_.size());

  std::string bytes(header.bytes, '\0');
  char* at = bytes.data();
  const auto append = [&at](const void* data, std::size_t length) {
    if (length != 0) std::memcpy(at, data, length);
    at += length;
  };
  append(&header, sizeof header);
  append(functions_.data(), functions_.size() * sizeof(unit::Function));
  append(sites_.data(), sites_.size() * sizeof(unit::Site));
  for (const auto& [pair, how] : flows_) {
    const unit::Flow flow{pair.first, pair.second, how};
    append(&flow, sizeof flow);
  }
  append(strings_.data(), strings_.size());

  llvm::Constant* data =
      llvm::ConstantDataArray::getString(module_.getContext(), bytes, /*AddNull=*/false);
  auto* result = new llvm::GlobalVariable(
      module_, data->getType(), false, llvm::GlobalValue::InternalLinkage, data, "syndrome.unit");
  result->setAlignment(llvm::Align(16));
  result->setNoSanitizeMetadata();
  placeholder_->replaceAllUsesWith(result);
  placeholder_->eraseFromParent();
  placeholder_ = nullptr;
  return result;
}

}  // namespace syndrome::instrument
