// Stock-Level (clause 2.8) counts the items with low stock among those of a district's last 20
// orders. It is serializable here; clause 2.8.2.3 allows a lower isolation level.
#include <algorithm>
#include <array>
#include <vector>

#include "workloads/expect_row.h"
#include "workloads/tpcc/terminal.h"

namespace logjam::tpcc {
namespace {

class StockLevelType : public TransactionType {
 public:
  explicit StockLevelType(Terminal& terminal) : terminal_(terminal), tables_(terminal.tables) {
    items_.reserve(kOrders * kMaxLines);
  }

  // Draws the threshold, and also the district if the worker has none. A terminal's district never
  // changes (clause 2.8.1), but a worker without a district stands for many terminals.
  void draw() override {
    warehouse_ = terminal_.draw_warehouse();
    district_ = terminal_.home.district != 0 ? terminal_.home.district : terminal_.draw_district();
    threshold_ = static_cast<int32_t>(terminal_.random.between(10, 20));
  }

  // Executes the transaction profile (clause 2.8.2.2).
  Status execute(Transaction& txn) override {
    const District* district;
    if (!found_or_die(txn.read(tables_.district, district_key(warehouse_, district_), &district),
                      "tpcc: a row of district")) {
      return Status::kAbort;
    }
    const uint64_t next = district->next_order, first = next > kOrders ? next - kOrders : 1;
    items_.clear();
    const Status status =
        txn.scan(tables_.order_line, line_key(order_key(warehouse_, district_, first), 1),
                 line_key(order_key(warehouse_, district_, next - 1), kMaxLines), false,
                 [this](Key, const std::byte* row) {
                   items_.push_back(reinterpret_cast<const OrderLine*>(row)->item);
                   return true;
                 });
    if (status != Status::kOk) return status;

    std::sort(items_.begin(), items_.end());
    items_.erase(std::unique(items_.begin(), items_.end()), items_.end());
    uint32_t low = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (i % kPrefetched == 0) prefetch(txn, i);
      const Stock* stock;
      if (!found_or_die(txn.read_head(tables_.stock, stock_key(warehouse_, items_[i]),
                                      kStockQuantity, &stock),
                        "tpcc: a row of stock")) {
        return Status::kAbort;
      }
      low += stock->quantity < threshold_;
    }
    terminal_.screen.threshold = threshold_;
    terminal_.screen.low_stock = low;
    return Status::kOk;
  }

  void input(CommandFields&) override {}  // it writes nothing

 private:
  static constexpr uint64_t kOrders = 20;
  static constexpr size_t kPrefetched = 16;

  // Prefetches the stocks of the items from number `from` on.
  void prefetch(Transaction& txn, size_t from) {
    std::array<Key, kPrefetched> stocks;
    const size_t count = std::min(kPrefetched, items_.size() - from);
    for (size_t i = 0; i < count; ++i) stocks[i] = stock_key(warehouse_, items_[from + i]);
    txn.prefetch(tables_.stock, {stocks.data(), count}, kStockQuantity);
  }

  Terminal& terminal_;
  Tables& tables_;
  uint32_t warehouse_ = 0;
  uint32_t district_ = 0;
  int32_t threshold_ = 0;
  std::vector<uint32_t> items_;  // reused: no allocation per transaction
};

}  // namespace

std::unique_ptr<TransactionType> make_stock_level(Terminal& terminal) {
  return std::make_unique<StockLevelType>(terminal);
}

}  // namespace logjam::tpcc
