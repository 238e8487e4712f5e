#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "platform/assert.h"
#include "proof/history/history_files.h"
#include "proof/history/with_history.h"
#include "workloads/parallel_check.h"

namespace logjam::write_history {
namespace {

struct Recorded {
  TransactionId id;
  uint32_t life;
  bool acknowledged;
  bool promised;  // acknowledged, and must not be lost (R8)
  uint32_t type;
  std::span<const RecordedWrite> writes;
  size_t first_place;  // in Checker::places_of_writes_
};

enum class Fate : uint8_t {
  kPast,     // the row shows this write, or a later write
  kCertain,  // the row shows this write, and no other write left it in the same state
  kMissing,
};

// A write of the history. Places are sorted by table, key, life and the order of the row's writes.
struct Place {
  uint32_t table;
  uint32_t transaction;
  Key key;
  uint32_t life;
  uint64_t order;
  const RecordedWrite* write;
  size_t number;  // of the write, counted over all transactions
  Fate fate = Fate::kPast;

  bool same_row(const Place& other) const { return table == other.table && key == other.key; }
};

class Checker {
 public:
  Checker(Database& database, const HistoryFiles& history,
          const std::vector<std::string_view>& types)
      : database_(database), history_(history), types_(types) {}

  Check run() {
    const std::string wrong = violation();
    if (!wrong.empty()) return {"history", false, wrong};
    return {"history", true, summary()};
  }

 private:
  std::string violation() {
    if (std::string wrong = read_entries(); !wrong.empty()) return wrong;
    sort_places();
    std::string wrong = settle_all();
    // If nothing was recovered, reports the lost transactions, and not the first row that differs.
    const std::string lost = lost_acknowledged();
    if (!lost.empty() && std::ranges::find(changed_, 1) == changed_.end())
      return "nothing of the run is there: " + lost;
    if (!wrong.empty()) return wrong;
    if (!lost.empty()) return "R1: " + lost;
    if (wrong = unsettled(); !wrong.empty()) return wrong;
    return not_closed();
  }

  // Fills transactions_. Returns an error if the history is not of a run of this workload.
  std::string read_entries() {
    size_t writes = 0;
    for (const HistoryEntry& entry : history_.entries) {
      const auto damaged = [&](const char* why) {
        return "the history is damaged: its entry " + show(entry.id) + " " + why;
      };
      if (entry.payload.size() < sizeof(WritesHeader)) return damaged("is too short");
      const auto& header = *reinterpret_cast<const WritesHeader*>(entry.payload.data());
      if (entry.payload.size() != sizeof header + header.writes * sizeof(RecordedWrite)) {
        return damaged("is of another length");
      }
      if (header.type >= types_.size()) return damaged("is of no type");
      const auto* first = reinterpret_cast<const RecordedWrite*>(&header + 1);
      const bool promised = entry.acknowledged && !history_.files[entry.life].proves_nothing();
      transactions_.push_back({entry.id,
                               entry.life,
                               entry.acknowledged,
                               promised,
                               header.type,
                               {first, header.writes},
                               writes});
      for (const RecordedWrite& write : transactions_.back().writes) {
        if (table(write.table) == nullptr) return damaged("wrote to no table");
      }
      writes += header.writes;
    }
    return "";
  }

  Table* table(uint32_t id) const {
    return id <= UINT16_MAX ? database_.table(static_cast<uint16_t>(id)) : nullptr;
  }

  void sort_places() {
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      for (const RecordedWrite& write : transactions_[t].writes) {
        places_.push_back({write.table, t, write.key, transactions_[t].life, write.order, &write,
                           places_.size()});
      }
    }
    std::ranges::sort(places_, {}, [](const Place& place) {
      return std::tie(place.table, place.key, place.life, place.order);
    });
    place_of_write_.resize(places_.size());
    for (size_t i = 0; i < places_.size(); ++i) {
      place_of_write_[places_[i].number] = i;
      if (i == 0 || !places_[i].same_row(places_[i - 1])) rows_.push_back(i);
    }
    changed_.resize(rows_.size());
  }

  std::span<Place> places_of_row(size_t row) {
    LJ_ASSERT(row < rows_.size());
    const size_t end = row + 1 < rows_.size() ? rows_[row + 1] : places_.size();
    return {places_.data() + rows_[row], places_.data() + end};
  }

  RowHash hash_now(const Place& place) const {
    Table& table = *this->table(place.table);
    Keyed* entry = table.primary().find(place.key, nullptr);
    if (entry == nullptr || Table::tuple_of(entry)->load_version().absent()) return kAbsentRow;
    return hash_of(Table::tuple_of(entry)->row(), table.row_bytes());
  }

  std::string settle_all() {
    const auto settle_part = [this](uint32_t part, uint32_t parts, Violation* found) {
      const size_t end = rows_.size() * (part + 1) / parts;
      for (size_t row = rows_.size() * part / parts; row < end; ++row) {
        found->add({settle(row)});
      }
    };
    return sum_of_parts(Violation{}, settle_part, rows_.size()).sentence;
  }

  // Sets the fates of the writes of a row, from the last life to the first. The row's present state
  // is its state after the last life. The state that the first write of a life saw is the row's
  // state after the life before. Returns what is wrong with the row, or an empty string.
  std::string settle(size_t row) {
    const std::span<Place> places = places_of_row(row);
    RowHash now = hash_now(places.front());
    changed_[row] = now != places.front().write->before &&
                    std::ranges::any_of(
                        places, [now](const Place& place) { return place.write->after == now; });
    std::string wrong;
    for (size_t end = places.size(); end > 0;) {
      size_t begin = end - 1;
      while (begin > 0 && places[begin - 1].life == places[begin].life) --begin;
      std::string in_life = settle_life(places.first(end), begin, &now);
      if (!in_life.empty()) wrong = std::move(in_life);
      end = begin;
    }
    return wrong;
  }

  // Returns whether a write may see the row as `seen`, if the write before left the row as `left`.
  static bool fits(RowHash left, RowHash seen) {
    return seen == kUnknownRow ? left != kAbsentRow : left == seen;
  }

  // Sets the fates of the writes of one life. These writes are `places` from `begin` on. The places
  // before `begin` are writes of earlier lives. At first `*now` is the row's state after this life.
  // The function sets `*now` to the row's state before this life. Returns what is wrong with the
  // row, or an empty string.
  std::string settle_life(std::span<Place> places, size_t begin, RowHash* now) {
    LJ_ASSERT(begin < places.size() && places[begin].life == places.back().life);
    LJ_ASSERT(begin == 0 || places[begin - 1].life < places[begin].life);
    const RowHash after = *now, begun = places[begin].write->before;
    const bool as_begun = begun == kUnknownRow ? after != kAbsentRow : fits(begun, after);
    // If the row's state before this life is unknown, looks at the earlier lives too: one of them
    // may have left the row in the same state as this life.
    size_t alike = after == begun ? 1 : 0, past = begin;
    for (size_t i = begun == kUnknownRow ? 0 : begin; i < places.size(); ++i) {
      if (!fits(places[i].write->after, after)) continue;
      ++alike;
      if (i >= begin) past = i + 1;
    }
    for (size_t i = past; i < places.size(); ++i) places[i].fate = Fate::kMissing;
    if (past > begin && alike == 1 && after != kUnknownRow) {
      places[past - 1].fate = Fate::kCertain;
    }
    *now = begun == kUnknownRow && past == begin ? after : begun;
    for (size_t i = begin + 1; i < places.size(); ++i) {
      if (fits(places[i - 1].write->after, places[i].write->before)) continue;
      return "lost update: " + name(places[i].transaction) + " changed " + name_of_row(places[i]) +
             " without having seen it as " + name(places[i - 1].transaction) + " had left it";
    }
    if (past > begin || as_begun) return "";
    return strange(places[begin], after);
  }

  // Returns the sentence about a row whose state after the life of `first` is wrong: no writer left
  // the row in this state, and the row did not have it before this life.
  std::string strange(const Place& first, RowHash after) const {
    const bool loaded = &first == places_.data() || !(&first)[-1].same_row(first);
    const bool last = first.life + 1 == history_.files.size();
    const std::string begun = loaded ? "the load" : "an earlier life";
    return "R3: " + name_of_row(first) +
           (last ? " is " : " was, after life " + std::to_string(first.life + 1) + ", ") +
           (after == kAbsentRow ? "absent, and no transaction has erased it"
                                : "as neither " + begun + " nor a transaction left it");
  }

  const Place& place(const Recorded& transaction, size_t write) const {
    LJ_ASSERT(write < transaction.writes.size());
    return places_[place_of_write_[transaction.first_place + write]];
  }
  const Place* find_write(const Recorded& transaction, Fate fate) const {
    for (size_t i = 0; i < transaction.writes.size(); ++i) {
      if (place(transaction, i).fate == fate) return &place(transaction, i);
    }
    return nullptr;
  }
  const Place* missing_write(const Recorded& transaction) const {
    return find_write(transaction, Fate::kMissing);
  }

  std::string lost_acknowledged() const {
    std::map<uint32_t, std::map<uint32_t, uint64_t>> by_worker;  // and by type
    const Recorded* first = nullptr;
    uint64_t acknowledged = 0, lost = 0;
    for (const Recorded& transaction : transactions_) {
      acknowledged += transaction.acknowledged;
      if (!transaction.promised || missing_write(transaction) == nullptr) continue;
      if (lost++ == 0) first = &transaction;
      ++by_worker[worker_of(transaction.id)][transaction.type];
    }
    if (lost == 0) return "";
    std::string sentence = std::to_string(lost) + " of " + std::to_string(acknowledged) +
                           " acknowledged transactions that write are lost (";
    for (const auto& [worker, by_type] : by_worker) {
      sentence += "worker " + std::to_string(worker) + ": ";
      for (const auto& [type, count] : by_type) {
        sentence += std::to_string(count) + " " + std::string(types_[type]) + ", ";
      }
      sentence.replace(sentence.size() - 2, 2, "; ");
    }
    sentence.resize(sentence.size() - 2);
    return sentence + "); the first is " + name(*first) + ": its write of " +
           where_missing(*missing_write(*first));
  }

  // Returns a sentence if a life that ended by itself did not acknowledge all its commits.
  std::string unsettled() const {
    for (const Recorded& transaction : transactions_) {
      if (transaction.acknowledged || !history_.files[transaction.life].finished) continue;
      return "the run ended by itself, and never acknowledged " + name(transaction);
    }
    return "";
  }

  // Checks rule R4: if a transaction must not be lost, then no transaction whose row it updated may
  // be lost, and so on. Returns a sentence about the first lost transaction, or an empty string.
  std::string not_closed() const {
    std::vector<bool> required(transactions_.size());
    std::vector<uint32_t> unfollowed;
    const auto require = [&](uint32_t transaction) {
      if (required[transaction]) return;
      required[transaction] = true;
      unfollowed.push_back(transaction);
    };
    for (uint32_t t = 0; t < transactions_.size(); ++t) {
      const Recorded& transaction = transactions_[t];
      const Place* certain = find_write(transaction, Fate::kCertain);
      const Place* missing = missing_write(transaction);
      if (certain != nullptr && missing != nullptr) {
        return "R2: " + name(transaction) + " is torn: its write of " + name_of_row(*certain) +
               " is there, its write of " + where_missing(*missing);
      }
      if (certain != nullptr || transaction.promised) require(t);
    }
    while (!unfollowed.empty()) {
      const Recorded& transaction = transactions_[unfollowed.back()];
      unfollowed.pop_back();
      for (size_t i = 0; i < transaction.writes.size(); ++i) {
        const Place* updated = updated_by(place(transaction, i));
        if (updated == nullptr) continue;
        const Place* missing = missing_write(transactions_[updated->transaction]);
        if (missing != nullptr) {
          return "R4: " + name(transaction) + " is there, and has updated " +
                 name_of_row(*updated) + " as " + name(updated->transaction) +
                 " had left it, whose write of " + where_missing(*missing);
        }
        require(updated->transaction);
      }
    }
    return "";
  }

  // Returns the write that left the row in the state that the write `place` found, or null. For the
  // first write of a life, the result is a recovered write of an earlier life.
  const Place* updated_by(const Place& place) const {
    if (place.write->before <= kUnknownRow) return nullptr;
    for (const Place* at = &place; at != places_.data() && at[-1].same_row(place); --at) {
      const bool was_recovered = at[-1].life == place.life || at[-1].fate != Fate::kMissing;
      if (was_recovered) return at - 1;
    }
    return nullptr;
  }

  std::string summary() const {
    uint64_t acknowledged = 0, there = 0, lost = 0;
    for (const Recorded& transaction : transactions_) {
      const bool is_there = missing_write(transaction) == nullptr;
      acknowledged += transaction.acknowledged;
      there += is_there;
      lost += transaction.acknowledged && !is_there;
    }
    std::string text = std::to_string(transactions_.size()) + " transactions that write, " +
                       std::to_string(acknowledged) + " acknowledged, " + std::to_string(there) +
                       " there; acknowledged with those that only read:";
    for (size_t type = 0; type < types_.size(); ++type) {
      uint64_t count = 0;
      for (const HistoryFile& life : history_.files) {
        for (const auto& counters : life.counters) count += counters[type];
      }
      text += (type == 0 ? " " : ", ") + std::to_string(count) + " " + std::string(types_[type]);
    }
    if (const std::string unsafe = history_.unsafe(); !unsafe.empty()) {
      text += "; UNSAFE, acknowledged transactions may be lost (" + unsafe +
              "): " + std::to_string(lost) + " are";
    }
    return text;
  }

  std::string name(const Recorded& transaction) const {
    return show(transaction.id) + " (" + std::string(types_[transaction.type]) + ")" +
           name_of_life(history_.files.size(), transaction.life);
  }
  std::string name(uint32_t transaction) const { return name(transactions_[transaction]); }
  std::string name_of_row(const Place& place) const {
    return table(place.table)->schema().name + " " + std::to_string(place.key);
  }
  // Returns the end of a sentence: "district 17 is not, which is as 1:99 (payment) left it". If a
  // later life has overwritten the row, "is not, which was, when life 2 wrote it, as ...".
  std::string where_missing(const Place& missing) const {
    const Place* shown = &missing;
    while (shown != places_.data() && shown->fate == Fate::kMissing &&
           shown[-1].same_row(missing)) {
      --shown;
    }
    const Place* later = &missing;
    const Place* const end = places_.data() + places_.size();
    while (later != end && later->same_row(missing) && later->life == missing.life) ++later;
    const bool overwritten = later != end && later->same_row(missing);
    return name_of_row(missing) + " is not, which " +
           (overwritten ? "was, when life " + std::to_string(later->life + 1) + " wrote it, as "
                        : "is as ") +
           (shown->fate != Fate::kMissing         ? name(shown->transaction) + " left it"
            : shown->write->before == kUnknownRow ? "the load left it, or as no transaction did"
                                                  : "loaded");
  }

  Database& database_;
  const HistoryFiles& history_;
  const std::vector<std::string_view>& types_;
  std::vector<Recorded> transactions_;
  std::vector<Place> places_;
  std::vector<size_t> place_of_write_;  // by Place::number
  std::vector<size_t> rows_;            // the index in places_ of each row's first write
  std::vector<uint8_t> changed_;        // by row: 1 if it shows a write, and not its loaded state
};

}  // namespace

Check check_history(Database& database, const std::string& path, const std::string& workload,
                    const std::vector<std::string_view>& types) {
  const HistoryFiles history = open_history_files(path);
  std::string error = history.error;
  if (error.empty()) {
    const HistoryFileParameters wanted{workload, static_cast<uint32_t>(types.size()), {}, ""};
    const std::string other = difference(history.parameters(), wanted);
    if (!other.empty()) error = unusable_history(path, other);
  }
  if (!error.empty()) return {"history", false, error};
  return Checker(database, history, types).run();
}

}  // namespace logjam::write_history
