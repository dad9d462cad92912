// A list of node ids that many jobs share.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::storage {

// An immutable, ordered list of node ids. Copies share the list, which saves memory when thousands
// of jobs can run on the same thousands of nodes. Multiple threads may read a list concurrently.
class NodeIds {
 public:
  using List = std::vector<std::string>;
  using value_type = List::value_type;
  using size_type = List::size_type;
  using const_reference = List::const_reference;
  using const_iterator = List::const_iterator;
  using iterator = const_iterator;

  NodeIds() : NodeIds(List()) {}
  NodeIds(List ids) : ids_(std::make_shared<const List>(std::move(ids))) {}
  NodeIds(std::initializer_list<std::string> ids) : NodeIds(List(ids)) {}

  const_iterator begin() const { return ids_->begin(); }
  const_iterator end() const { return ids_->end(); }
  size_type size() const { return ids_->size(); }
  bool empty() const { return ids_->empty(); }
  const std::string& front() const { return ids_->front(); }
  const std::string& operator[](size_type index) const { return (*ids_)[index]; }
  operator const List&() const { return *ids_; }

  // Number of copies that share the list, including this one.
  long sharers() const { return ids_.use_count(); }

  // Compare contents; copies compare in constant time.
  friend bool operator==(const NodeIds& a, const NodeIds& b) {
    return a.ids_ == b.ids_ || *a.ids_ == *b.ids_;
  }
  friend bool operator<(const NodeIds& a, const NodeIds& b) {
    return a.ids_ != b.ids_ && *a.ids_ < *b.ids_;
  }

 private:
  std::shared_ptr<const List> ids_;
};

}  // namespace assay::storage
