#include "workloads/ycsb/options.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include "platform/flag_list.h"
#include "platform/nearest_name.h"
#include "platform/text.h"
#include "workloads/flag_refusals.h"

// If a flag has its default (-1, 0, "auto", an empty list), the variant's value counts. No variant
// has a default as its value. So only a flag's value matters, and not whether the user has set the
// flag, or a recovery from the log's header.
DEFINE_string(
    ycsb_workload, "A",
    "the mix, by its name in `logjam list variants`; A to F are YCSB's own; papers' mixes "
    "have other names; the other --ycsb flags replace parts of the mix");
DEFINE_uint64(ycsb_records, 1'000'000, "rows in the table");
DEFINE_uint32(ycsb_value_bytes, 0, "bytes of a row, at least 4; 0: the mix's (A: 1000)");
DEFINE_string(ycsb_ops, "0",
              "point operations in a transaction; 0: the mix's (A: 1); 1:16: a worker draws 16 "
              "transactions at a time, as if a client sent a batch, and loads their rows together "
              "(mixes of reads and updates)");
DEFINE_string(
    ycsb_ratios, "",
    "shares of the operations, read:0.5,insert:0.05,scan:0.1; the rest are updates; scans "
    "are of 1 to --ycsb_scan_length rows; a share that is not given is the mix's");
DEFINE_double(ycsb_theta, -1, "zipfian skew, 0 (uniform) to less than 1; -1: the mix's (A: 0.99)");
DEFINE_string(ycsb_distribution, "auto",
              "how rows are drawn; zipf: row = rank, Gray et al.; scrambled: row = hash of one of "
              "10^10 ranks, as YCSB draws; latest: the newest row is the most popular; uniform; "
              "auto: the mix's");
DEFINE_string(ycsb_hot, "stays",
              "whether the popular rows change; stays, or moves:N: every N seconds other rows are "
              "popular, with the same skew");
DEFINE_string(ycsb_index, "auto", "the primary index; hash, ordered, or auto: the mix's");
DEFINE_string(ycsb_update, "auto",
              "what an update does; field: changes one of ten fields; read-field: reads the row "
              "first; row: overwrites the row unread; read-row: reads the row, and writes all of "
              "it; auto: the mix's");
DEFINE_string(ycsb_read, "auto", "what reads and scans look at; row, field, or auto: the mix's");
DEFINE_int32(ycsb_scan_length, -1,
             "rows of a scan at the end of every transaction; of the longest scan if the mix has "
             "scans; needs the ordered index; -1: the mix's");
DEFINE_uint64(ycsb_long_rows, 0,
              "long beside short: rows that each transaction of worker 0 updates, of consecutive "
              "numbers, while the other workers execute the mix; 0: all workers execute the mix");

namespace logjam::ycsb {
namespace {

// A to F are the workloads of Cooper et al., "Benchmarking Cloud Serving Systems with YCSB" (SoCC
// 2010), table 2, with the numbers of YCSB's workloads/workload[a-f]. Tables with inserts have an
// ordered index, because the hash index never grows. docs/REFERENCES.md cites the other papers.
constexpr std::array kVariants = {
    Variant{.name = "A",
            .what = "YCSB's A: half reads of rows, half updates of one of ten fields of 100 B; "
                    "scrambled zipfian, theta 0.99",
            .read_ratio = 0.5},
    Variant{.name = "B", .what = "YCSB's B: as A with 95 % reads", .read_ratio = 0.95},
    Variant{.name = "C", .what = "YCSB's C: reads only", .read_ratio = 1},
    Variant{.name = "D",
            .what = "YCSB's D: 95 % reads of the latest rows, 5 % inserts",
            .read_ratio = 0.95,
            .insert_ratio = 0.05,
            .distribution = Distribution::kLatest,
            .ordered = true},
    Variant{.name = "E",
            .what = "YCSB's E: 95 % scans of 1 to 100 rows, 5 % inserts",
            .insert_ratio = 0.05,
            .scan_ratio = 0.95,
            .ordered = true,
            .scan_length = 100},
    Variant{.name = "F",
            .what = "YCSB's F: as A, but updates read the row first",
            .read_ratio = 0.5,
            .update = Update::kReadField},
    Variant{.name = "dbx1000",
            .what = "DBx1000's defaults: 16 requests, 9 reads of a field to 1 update of a field; "
                    "key = zipfian rank, theta 0.6",
            .read_ratio = 0.9,
            .distribution = Distribution::kZipf,
            .theta = 0.6,
            .ops = 16,
            .hashed = false,
            .read = Read::kField},
    Variant{.name = "eleda",
            .what = "ELEDA's key-value mix: as A, with values of 1 KiB that are overwritten",
            .read_ratio = 0.5,
            .update = Update::kRow,
            .value_bytes = 1024},
    Variant{.name = "poplar-hybrid",
            .what = "Poplar's hybrid: an update of a column and a scan of 10 rows, uniform keys",
            .distribution = Distribution::kUniform,
            .theta = 0,
            .hashed = false,
            .ordered = true,
            .scan_length = 10,
            .read = Read::kField},
    Variant{.name = "poplar-write-only",
            .what = "Poplar's write-only: overwrites a row, uniform keys",
            .update = Update::kRow,
            .distribution = Distribution::kUniform,
            .theta = 0,
            .hashed = false},
    Variant{.name = "rows-16",
            .what = "logjam's own, not published: 16 operations, half reads of rows, half "
                    "overwrite rows; key = zipfian rank, theta 0.6",
            .read_ratio = 0.5,
            .update = Update::kRow,
            .distribution = Distribution::kZipf,
            .theta = 0.6,
            .ops = 16,
            .hashed = false},
    Variant{.name = "silo",
            .what = "Silo's: 80 % reads, 20 % read-modify-writes of rows of 100 B, uniform keys",
            .read_ratio = 0.8,
            .update = Update::kReadRow,
            .distribution = Distribution::kUniform,
            .theta = 0,
            .value_bytes = 100,
            .hashed = false,
            .ordered = true},
};

constexpr uint64_t kMaxRecords = uint64_t{1} << 40;
constexpr uint32_t kMaxValueBytes = 1 << 20;
constexpr uint32_t kMaxOps = 1024, kMostAhead = 64;
constexpr uint64_t kMaxLongRows = 65'535;  // a record has no more writes
constexpr double kYcsbTheta = 0.99;
constexpr std::string_view kAuto = "auto";

// A value of a flag, and its name on the command line.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};
template <class Value>
Named(const char*, Value) -> Named<Value>;

constexpr std::array kDistributions = {
    Named{"zipf", Distribution::kZipf}, Named{"scrambled", Distribution::kScrambled},
    Named{"latest", Distribution::kLatest}, Named{"uniform", Distribution::kUniform}};
constexpr std::array kIndexes = {Named{"hash", false}, Named{"ordered", true}};
constexpr std::array kUpdates = {Named{"field", Update::kField},
                                 Named{"read-field", Update::kReadField},
                                 Named{"row", Update::kRow}, Named{"read-row", Update::kReadRow}};
constexpr std::array kReads = {Named{"row", Read::kRow}, Named{"field", Read::kField}};

template <class Value, size_t kCount>
Value value_of(const std::array<Named<Value>, kCount>& table, std::string_view name,
               Value of_variant) {
  const auto found = std::ranges::find(table, name, &Named<Value>::name);
  return found == table.end() ? of_variant : found->value;
}

// Returns why `given` is not a value of the flag, or an empty string if it is one.
template <class Value, size_t kCount>
std::string refuse_unless_in(const std::array<Named<Value>, kCount>& table, const char* flag,
                             const std::string& given) {
  if (given == kAuto || std::ranges::find(table, given, &Named<Value>::name) != table.end()) {
    return "";
  }
  std::vector<std::string_view> values;
  for (const auto& [name, value] : table) values.push_back(name);
  values.push_back(kAuto);
  return std::string("--") + flag + "=" + given + " is not a choice" +
         platform::instead_of(given, values);
}

bool given(double theta) { return theta != -1; }

std::string percent(double share) { return platform::short_number(share * 100) + " %"; }

std::string check_workload() {
  if (find_variant(FLAGS_ycsb_workload) != nullptr) return "";
  std::vector<std::string_view> names;
  for (const Variant& variant : variants()) names.push_back(variant.name);
  return "--ycsb_workload=" + FLAGS_ycsb_workload + " is not a mix" +
         platform::instead_of(FLAGS_ycsb_workload, names);
}

// Returns the seconds of moves:N, 0 for `stays`, or nothing for another value of --ycsb_hot.
std::optional<double> hot_moves_s() {
  constexpr std::string_view kMoves = "moves:";
  constexpr double kLeast = 1e-3, kMost = 1e6;
  std::string_view given = FLAGS_ycsb_hot;
  if (given == "stays") return 0;
  if (!given.starts_with(kMoves)) return std::nullopt;
  given.remove_prefix(kMoves.size());
  if (given.ends_with('s')) given.remove_suffix(1);
  double seconds = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), seconds);
  const bool good = error == std::errc{} && end == given.data() + given.size() &&
                    seconds >= kLeast && seconds <= kMost;
  return good ? std::optional(seconds) : std::nullopt;
}

// The numbers of --ycsb_ops=OPERATIONS:AHEAD.
struct Batch {
  uint32_t ops = 0;
  uint32_t ahead = 1;
};

std::optional<Batch> batch_of(std::string_view given) {
  const auto number = [](std::string_view text, uint32_t* to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *to);
    return error == std::errc{} && end == text.data() + text.size();
  };
  Batch batch;
  const size_t colon = given.find(':');
  if (!number(given.substr(0, colon), &batch.ops)) return std::nullopt;
  if (colon != given.npos && !number(given.substr(colon + 1), &batch.ahead)) return std::nullopt;
  return batch;
}

std::string check_ratios() {
  constexpr platform::ListKey kRatios[] = {
      {"read", 0, 1, false}, {"insert", 0, 1, false}, {"scan", 0, 1, false}};
  return platform::check_list("ycsb_ratios", FLAGS_ycsb_ratios, kRatios);
}

std::string check_sum_of_ratios(const Options& options) {
  if (options.read_ratio + options.insert_ratio + options.scan_ratio > 1 + 1e-9) {
    return "the shares of reads, inserts and scans (" + percent(options.read_ratio) + ", " +
           percent(options.insert_ratio) + " and " + percent(options.scan_ratio) +
           "), those of --ycsb_ratios or else the mix's, add up to more than 1";
  }
  if (options.scan_ratio > 0 && options.scan_length == 0) {
    return "--ycsb_ratios=scan:... needs a --ycsb_scan_length";
  }
  return "";
}

// Returns a text that says how many bytes of rows a transaction logs and changes, on average.
std::string row_bytes(const Options& options) {
  const double updates = 1 - options.read_ratio - options.insert_ratio - options.scan_ratio;
  const double field = options.by_field() ? options.value_bytes / kFields : options.value_bytes;
  const auto bytes = [&](double of_update) {
    return platform::short_number(options.ops * (std::max(0.0, updates) * of_update +
                                                 options.insert_ratio * options.value_bytes));
  };
  return bytes(options.value_bytes) + " B of rows a transaction, of which it writes " +
         bytes(field) + " B";
}

std::string skew(const Options& options) {
  const std::string theta = " theta " + platform::shortest(options.theta);
  switch (options.distribution) {
    case Distribution::kUniform:
      return "uniform rows";
    case Distribution::kZipf:
      return "zipfian rows (Gray et al., row = rank)" + theta;
    case Distribution::kScrambled:
      return "scrambled zipfian rows (YCSB's, 10^10 ranks)" + theta;
    case Distribution::kLatest:
      return "latest rows" + theta;
  }
  return "";
}

}  // namespace

std::span<const Variant> variants() { return kVariants; }

const Variant* find_variant(std::string_view name) {
  const auto* found = std::ranges::find(kVariants, name, &Variant::name);
  return found == kVariants.end() ? nullptr : found;
}

Options options_from_flags() {
  const Variant* found = find_variant(FLAGS_ycsb_workload);
  const Variant& variant = found != nullptr ? *found : variants()[0];
  const auto ratio = [](const char* of, double of_variant) {
    return platform::listed(FLAGS_ycsb_ratios, of, of_variant);
  };
  Options options{variant};
  options.records = FLAGS_ycsb_records;
  options.long_rows = static_cast<uint32_t>(FLAGS_ycsb_long_rows);
  if (FLAGS_ycsb_value_bytes != 0) options.value_bytes = FLAGS_ycsb_value_bytes;
  const Batch batch = batch_of(FLAGS_ycsb_ops).value_or(Batch{});
  if (batch.ops != 0) options.ops = batch.ops;
  options.ahead = batch.ahead;
  options.read_ratio = ratio("read", variant.read_ratio);
  options.insert_ratio = ratio("insert", variant.insert_ratio);
  options.scan_ratio = ratio("scan", variant.scan_ratio);
  if (given(FLAGS_ycsb_theta)) options.theta = FLAGS_ycsb_theta;
  options.distribution = value_of(kDistributions, FLAGS_ycsb_distribution, variant.distribution);
  options.hot_moves_s = hot_moves_s().value_or(0);
  options.ordered = value_of(kIndexes, FLAGS_ycsb_index, variant.ordered);
  options.update = value_of(kUpdates, FLAGS_ycsb_update, variant.update);
  options.read = value_of(kReads, FLAGS_ycsb_read, variant.read);
  if (FLAGS_ycsb_scan_length >= 0) {
    options.scan_length = static_cast<uint32_t>(FLAGS_ycsb_scan_length);
  }
  if (FLAGS_ycsb_index == kAuto && options.insert_ratio > 0) options.ordered = true;
  // If the mix draws uniformly, --ycsb_theta or --ycsb_distribution alone is enough for a skew.
  if (options.distribution == Distribution::kUniform && FLAGS_ycsb_distribution == kAuto &&
      options.theta > 0) {
    options.distribution = Distribution::kZipf;
  }
  if (options.distribution != Distribution::kUniform && !given(FLAGS_ycsb_theta) &&
      options.theta == 0) {
    options.theta = kYcsbTheta;
  }
  if (options.theta == 0) options.distribution = Distribution::kUniform;
  if (options.distribution == Distribution::kUniform) options.theta = 0;
  // As in YCSB with an operationcount of --ycsb_records: twice the expected number of inserts.
  options.expected_inserts = static_cast<uint64_t>(2 * std::max(0.0, options.insert_ratio) *
                                                   static_cast<double>(options.records));
  // Operations of a transaction have different rows, so a transaction has at most as many
  // operations as there are records.
  if (batch.ops == 0) {
    options.ops = static_cast<uint32_t>(std::min<uint64_t>(options.ops, options.records));
  }
  return options;
}

std::string check_flags() {
  std::string no_mix =
      first_refusal({check_workload(),
                     refuse_unless_in(kDistributions, "ycsb_distribution", FLAGS_ycsb_distribution),
                     refuse_unless_in(kIndexes, "ycsb_index", FLAGS_ycsb_index),
                     refuse_unless_in(kUpdates, "ycsb_update", FLAGS_ycsb_update),
                     refuse_unless_in(kReads, "ycsb_read", FLAGS_ycsb_read), check_ratios(),
                     hot_moves_s() ? ""
                                   : "--ycsb_hot=" + FLAGS_ycsb_hot +
                                         " is neither stays nor moves:N with N seconds, from "
                                         "0.001 to 1e6",
                     batch_of(FLAGS_ycsb_ops) ? ""
                                              : "--ycsb_ops=" + FLAGS_ycsb_ops +
                                                    " is not a whole number, or two with a colon "
                                                    "between them, such as 1:16"});
  if (!no_mix.empty()) return no_mix;
  const Options options = options_from_flags();
  const double theta = given(FLAGS_ycsb_theta) ? FLAGS_ycsb_theta : options.theta;
  const bool uniform = FLAGS_ycsb_distribution == "uniform";
  const bool by_fields = options.by_field() || options.read == Read::kField;
  const auto unless = [](bool fine, const char* refusal) { return fine ? "" : refusal; };
  return first_refusal(
      {refuse_outside("ycsb_records", options.records, 1, kMaxRecords),
       refuse_outside("ycsb_value_bytes", options.value_bytes, 4, kMaxValueBytes),
       refuse_outside("ycsb_ops", options.ops, 1, kMaxOps),
       unless(options.ops <= options.records,
              "--ycsb_ops cannot exceed --ycsb_records: the rows of a transaction differ"),
       unless(options.ahead >= 1 && options.ahead <= kMostAhead,
              "--ycsb_ops=N:AHEAD draws 1 to 64 transactions at a time"),
       unless(
           options.ahead == 1 ||
               (options.insert_ratio == 0 && options.scan_length == 0 && options.long_rows == 0),
           "--ycsb_ops=N:AHEAD is for mixes of reads and updates, without inserts, scans or long "
           "transactions"),
       refuse_outside("ycsb_long_rows", FLAGS_ycsb_long_rows, 0, kMaxLongRows),
       unless(FLAGS_ycsb_long_rows <= options.records,
              "--ycsb_long_rows cannot exceed --ycsb_records: the rows of a transaction differ"),
       check_sum_of_ratios(options),
       unless(
           theta >= 0 && theta < 1,
           "--ycsb_theta is at least 0 and less than 1 (Gray's method has no skew of 1 or more)"),
       // With a theta closer to 1, Zipf's formula in doubles is too inexact: with 1 - 1e-15 it
       // draws only 52 of 1000 rows.
       unless(theta <= 1 - 1e-9,
              "--ycsb_theta is 0.999999999 at most (Gray's method loses its digits closer to 1)"),
       unless(
           !uniform || !given(FLAGS_ycsb_theta) || FLAGS_ycsb_theta == 0,
           "--ycsb_distribution=uniform has no skew: drop --ycsb_theta, or use zipf or scrambled"),
       unless(
           !by_fields || (options.value_bytes % kFields == 0 && options.value_bytes >= 4 * kFields),
           "rows of ten fields need --ycsb_value_bytes to be a multiple of 10, and at least 40"),
       unless(options.read != Read::kField || options.by_field(),
              "--ycsb_read=field needs --ycsb_update=field or read-field"),
       unless(
           options.hot_moves_s == 0 || options.distribution == Distribution::kZipf ||
               options.distribution == Distribution::kScrambled,
           "--ycsb_hot=moves:N needs rows that are popular and stay so: --ycsb_distribution=zipf "
           "or scrambled"),
       unless(options.scan_length == 0 || options.ordered,
              "--ycsb_scan_length needs --ycsb_index=ordered")});
}

std::string describe(const Options& options) {
  const char* update = "";
  for (const auto& [name, value] : kUpdates) {
    if (value == options.update) update = name.data();
  }
  std::string line =
      "ycsb " + std::string(options.name) + ": " + std::to_string(options.records) + " rows of " +
      std::to_string(options.value_bytes) + " B in " + (options.ordered ? "an ordered" : "a hash") +
      " index" + (options.hashed ? " under hashed keys" : "") + ", " + std::to_string(options.ops) +
      (options.ops == 1 ? " operation (" : " operations (") + percent(options.read_ratio) +
      " reads of " + (options.read == Read::kField ? "a field" : "the row");
  if (options.updates()) line += std::string(", update=") + update;
  line += "), " + skew(options);
  if (options.hot_moves_s > 0) {
    line += ", other popular rows every " + platform::shortest(options.hot_moves_s) + " s";
  }
  if (options.ops > 1) line += ", distinct in a transaction";
  if (options.insert_ratio > 0) line += ", " + percent(options.insert_ratio) + " inserts";
  if (options.scan_ratio > 0) {
    line += ", " + percent(options.scan_ratio) + " scans of up to " +
            std::to_string(options.scan_length) + " rows";
  } else if (options.scan_length > 0) {
    line += ", then a scan of " + std::to_string(options.scan_length) + " rows";
  }
  if (options.ahead > 1) {
    line += ", " + std::to_string(options.ahead) + " transactions drawn at a time";
  }
  if (options.long_rows > 0) {
    line += ", beside one worker whose transactions update " + std::to_string(options.long_rows) +
            " rows";
  }
  return line + "; " + row_bytes(options);
}

}  // namespace logjam::ycsb
