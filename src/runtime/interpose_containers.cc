// The parts of std::map, std::set and std::list that are in the standard library's own file, where
// there are no probes: who puts a node in, takes it out, or goes to the next one. Without them, an
// insertion would write a node that nothing ever leads to.
//
// What a rebalanced tree moves further up is left out: a program can tell only that the key is
// there or is not.

#include <stddef.h>

#include "runtime/interpose.h"
#include "runtime/interpose_strings.h"

namespace syndrome::rt {
namespace {

// As <bits/stl_tree.h> and <bits/stl_list.h> have them; they are part of the library's ABI.
struct TreeNode {
  int color;
  TreeNode* parent;
  TreeNode* left;
  TreeNode* right;
};
struct ListNode {
  ListNode* next;
  ListNode* previous;
};

SYNDROME_REAL_AS(_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_,
                 void(bool, TreeNode*, TreeNode*, TreeNode*));
SYNDROME_REAL_AS(_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_,
                 TreeNode*(TreeNode*, TreeNode*));
SYNDROME_REAL_AS(_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base, TreeNode*(TreeNode*));
SYNDROME_REAL_AS(_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base,
                 const TreeNode*(const TreeNode*));
SYNDROME_REAL_AS(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base, TreeNode*(TreeNode*));
SYNDROME_REAL_AS(_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base,
                 const TreeNode*(const TreeNode*));
SYNDROME_REAL_AS(_ZNSt8__detail15_List_node_base7_M_hookEPS0_, void(ListNode*, ListNode*));
SYNDROME_REAL_AS(_ZNSt8__detail15_List_node_base9_M_unhookEv, void(ListNode*));

/// The header of a tree has its first and last node, and the root, in these fields.
void write_ends(const TreeNode& header, const TreeNode& node) {
  if (header.parent == &node) write_range(&header.parent, sizeof header.parent);
  if (header.left == &node) write_range(&header.left, sizeof header.left);
  if (header.right == &node) write_range(&header.right, sizeof header.right);
}

void write_link(const TreeNode& parent, const TreeNode& child) {
  const TreeNode* const* const link = parent.left == &child ? &parent.left : &parent.right;
  write_range(link, sizeof *link);
}

void write_neighbours(const ListNode& node) {
  write_range(&node.previous->next, sizeof node.previous->next);
  write_range(&node.next->previous, sizeof node.next->previous);
}

template <typename Node>
void read_links(const Node& node) {
  read_range(&node.left, sizeof node.left + sizeof node.right);
}

}  // namespace

SYNDROME_INTERPOSE void _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
    bool left, TreeNode* node, TreeNode* parent, TreeNode* header) {
  if (recording()) {
    write_range(node, sizeof *node);
    const TreeNode* const* const link = left ? &parent->left : &parent->right;
    write_range(link, sizeof *link);
  }
  real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(left, node, parent,
                                                                         header);
  if (recording()) write_ends(*header, *node);
}

SYNDROME_INTERPOSE TreeNode* _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(
    TreeNode* node, TreeNode* header) {
  if (recording()) {
    read_links(*node);
    if (node->parent != nullptr && node->parent != header) write_link(*node->parent, *node);
    write_ends(*header, *node);
  }
  return real__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node, header);
}

SYNDROME_INTERPOSE TreeNode* _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(TreeNode* node) {
  if (recording()) read_links(*node);
  return real__ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node);
}
SYNDROME_INTERPOSE const TreeNode* _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(
    const TreeNode* node) {
  if (recording()) read_links(*node);
  return real__ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(node);
}
SYNDROME_INTERPOSE TreeNode* _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(TreeNode* node) {
  if (recording()) read_links(*node);
  return real__ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node);
}
SYNDROME_INTERPOSE const TreeNode* _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(
    const TreeNode* node) {
  if (recording()) read_links(*node);
  return real__ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(node);
}

SYNDROME_INTERPOSE void _ZNSt8__detail15_List_node_base7_M_hookEPS0_(ListNode* node,
                                                                     ListNode* position) {
  real__ZNSt8__detail15_List_node_base7_M_hookEPS0_(node, position);
  if (!recording()) return;
  write_range(node, sizeof *node);
  write_neighbours(*node);
}
SYNDROME_INTERPOSE void _ZNSt8__detail15_List_node_base9_M_unhookEv(ListNode* node) {
  if (recording()) {
    read_range(node, sizeof *node);
    write_neighbours(*node);
  }
  real__ZNSt8__detail15_List_node_base9_M_unhookEv(node);
}

}  // namespace syndrome::rt
