#include "workloads/tpcc/payment_text.h"

#include <charconv>
#include <tuple>

#include "workloads/tpcc/input.h"

namespace logjam::tpcc {
namespace {

class Note {
 public:
  explicit Note(const History& payment) {
    for (const uint64_t part :
         {uint64_t{payment.customer}, uint64_t{payment.customer_district},
          uint64_t{payment.customer_warehouse}, uint64_t{payment.district},
          uint64_t{payment.warehouse}, static_cast<uint64_t>(payment.amount)}) {
      end_ = std::to_chars(end_, bytes_ + sizeof bytes_ - 1, part).ptr;
      *end_++ = ' ';
    }
  }
  std::string_view text() const { return {bytes_, static_cast<size_t>(end_ - bytes_)}; }

 private:
  char bytes_[128];
  char* end_ = bytes_;
};

// Finds the notes in C_DATA from left to right, so from the latest payment to the earliest.
class Reader {
 public:
  Reader(std::span<const NotedPayment> payments, std::string_view loaded, std::string_view data)
      : payments_(payments), loaded_(loaded), data_(data) {
    for (size_t i = 0; i < payments.size(); ++i) {
      if (i == 0 || worker_of(i) != worker_of(i - 1)) workers_.push_back({i, i});
      ++workers_.back().end;
    }
  }

  // Returns whether the remaining payments explain C_DATA from index `at` on. Tries the latest
  // remaining payment of each worker, because payments of two workers may have equal notes.
  bool explained_from(size_t at) {
    LJ_ASSERT(at < data_.size());
    bool any_left = false;
    for (Left& left : workers_) {
      if (left.begin == left.end) continue;
      any_left = true;
      const Note note(payments_[left.end - 1].row);
      const std::string_view rest = data_.substr(at), shown = note.text().substr(0, rest.size());
      if (!rest.starts_with(shown)) continue;
      if (shown.size() == rest.size()) return true;  // older notes were cut off
      --left.end;
      if (explained_from(at + shown.size())) return true;
      ++left.end;
    }
    return !any_left && data_.substr(at) == loaded_.substr(0, data_.size() - at);
  }

 private:
  struct Left {
    size_t begin, end;
  };
  Key worker_of(size_t payment) const { return worker_of_history(payments_[payment].key); }

  const std::span<const NotedPayment> payments_;
  const std::string_view loaded_, data_;
  std::vector<Left> workers_;
};

}  // namespace

void name_places(const Warehouse& warehouse, const District& district, History* payment) {
  char* end = payment->data;
  end += text(warehouse.name).copy(end, sizeof warehouse.name);
  end += std::string_view("    ").copy(end, 4);
  end += text(district.name).copy(end, sizeof district.name);
  std::memset(end, 0, static_cast<size_t>(std::end(payment->data) - end));
}

void note_bad_credit(const History& payment, char (&data)[500]) {
  const Note note(payment);
  const size_t bytes = note.text().size();
  std::memmove(data + bytes, data, sizeof data - bytes);
  note.text().copy(data, bytes);
}

void sort_payments(std::vector<NotedPayment>* payments) {
  std::sort(payments->begin(), payments->end(), [](const NotedPayment& a, const NotedPayment& b) {
    return std::tie(a.customer, a.key) < std::tie(b.customer, b.key);
  });
}

std::span<const NotedPayment> payments_of(size_t customer, std::span<const NotedPayment> sorted) {
  LJ_ASSERT_IN_TESTS(std::ranges::is_sorted(sorted, {}, &NotedPayment::customer));
  const auto first = std::ranges::lower_bound(sorted, customer, {}, &NotedPayment::customer);
  const auto last = std::ranges::upper_bound(sorted, customer, {}, &NotedPayment::customer);
  return {first, last};
}

bool payments_explain(std::span<const NotedPayment> payments, const char (&loaded)[500],
                      const char (&data)[500]) {
  return Reader(payments, {loaded, sizeof loaded}, {data, sizeof data}).explained_from(0);
}

}  // namespace logjam::tpcc
