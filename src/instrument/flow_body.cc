#include "instrument/flow_body.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Transforms/Scalar/SROA.h>

namespace syndrome::instrument {

FlowBodies::FlowBodies(llvm::Module& module) : module_(module) {
  mark_ = llvm::DISubprogram::getDistinct(module.getContext(), nullptr, "", "", nullptr, 0, nullptr,
                                          0, nullptr, 0, 0, llvm::DINode::FlagZero,
                                          llvm::DISubprogram::SPFlagZero, nullptr);
  analyses_.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses_.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses_.registerPass([] { return llvm::AssumptionAnalysis(); });
  analyses_.registerPass([] { return llvm::TargetIRAnalysis(); });
}

FlowBodies::~FlowBodies() {
  analyses_.clear();
  for (const auto& [function, body] : copies_) body->dropAllReferences();
  for (const auto& [function, body] : copies_) body->eraseFromParent();
}

llvm::Function& FlowBodies::of(const llvm::Function& function, const StepNumbers* steps) {
  llvm::Function*& known = copies_[&function];
  if (known == nullptr) known = copy(function, steps);
  return *known;
}

std::optional<std::uint32_t> FlowBodies::step_of(const llvm::Instruction& instruction) const {
  const llvm::DILocation* const location = instruction.getDebugLoc().get();
  if (location == nullptr || location->getScope() != mark_) return std::nullopt;
  return location->getLine() - 1;
}

// SROA gives what it makes of an instruction that one's debug location: so the number of a step is
// one. Nothing else of debug information is of use here.
llvm::Function* FlowBodies::copy(const llvm::Function& function, const StepNumbers* steps) {
  llvm::Function* const body =
      llvm::Function::Create(function.getFunctionType(), llvm::GlobalValue::InternalLinkage,
                             function.getAddressSpace(), "syndrome.flow", &module_);
  body->setAttributes(function.getAttributes());
  if (function.hasPersonalityFn()) body->setPersonalityFn(function.getPersonalityFn());
  llvm::DenseMap<const llvm::Value*, llvm::Value*> map;
  for (const llvm::Argument& argument : function.args()) {
    map[&argument] = body->getArg(argument.getArgNo());
  }
  llvm::LLVMContext& context = module_.getContext();
  for (const llvm::BasicBlock& block : function) {
    map[&block] = llvm::BasicBlock::Create(context, "", body);
  }
  for (const llvm::BasicBlock& block : function) {
    auto* const to = llvm::cast<llvm::BasicBlock>(map[&block]);
    for (const llvm::Instruction& instruction : block) {
      if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd()) continue;
      llvm::Instruction* const made = instruction.clone();
      made->dropUnknownNonDebugMetadata();
      // Or SROA would take away what debug information says of the function itself.
      made->setMetadata(llvm::LLVMContext::MD_DIAssignID, nullptr);
      llvm::DebugLoc number;
      if (steps != nullptr) {
        if (const auto found = steps->find(&instruction); found != steps->end()) {
          number = llvm::DILocation::get(context, found->second + 1, 0, mark_);
        }
      }
      made->setDebugLoc(number);
      made->insertInto(to, to->end());
      map[&instruction] = made;
    }
  }
  for (llvm::BasicBlock& block : *body) {
    for (llvm::Instruction& instruction : block) {
      for (llvm::Use& use : instruction.operands()) {
        if (const auto found = map.find(use.get()); found != map.end()) use.set(found->second);
      }
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
        for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
          phi->setIncomingBlock(i, llvm::cast<llvm::BasicBlock>(map[phi->getIncomingBlock(i)]));
        }
      }
    }
  }
  (void)llvm::SROAPass(llvm::SROAOptions::PreserveCFG).run(*body, analyses_);
  analyses_.clear(*body, body->getName());
  return body;
}

}  // namespace syndrome::instrument
