// TATP: its flags, clients and tables, and its entry in the registry of workloads.
#include "workloads/tatp/tatp.h"

#include <gflags/gflags.h>

#include <cstdio>

#include "platform/test_value.h"
#include "platform/text.h"
#include "workloads/command.h"
#include "workloads/expect_row.h"
#include "workloads/flag_refusals.h"

DEFINE_uint64(tatp_subscribers, 100'000, "subscribers");
DEFINE_string(tatp_end_times, "kit",
              "end times of the initial call forwardings; kit: start_time + [1, 24], which TATP's "
              "program draws; text: start_time + [1, 8], which its description says");
DEFINE_string(tatp_only, "",
              "one transaction type instead of the mix, like UpdateLocation or GetSubscriberData");

namespace logjam::tatp {
namespace {

// Lets clients draw subscribers uniformly, and not by NURand, if the value is 1.
const platform::TestValue drawn_uniformly("tatp_uniform");

constexpr uint64_t kMaxSubscribers = 1'000'000'000;

struct Options {
  Population population;
  bool uniform = false;
  std::optional<Type> only;  // run this type alone; if there is none, the standard mix
};

Status rolled_back_if(Status failed, Status status) {
  return status == failed ? Status::kRollback : status;
}

// A transaction whose read finds no row commits. A transaction whose write finds no row, or whose
// insert finds its key present, rolls back (TATP's kit, client.c, runTransaction). So the number of
// commits per second is the kit's MQTh, which counts failed reads but no failed writes.
//
// Options, counters and database must outlive the client.
class TatpClient : public Client {
 public:
  TatpClient(const Options& options, Acknowledged& acknowledged, Database& database,
             uint32_t worker, uint64_t seed)
      : options_(options),
        acknowledged_(acknowledged),
        tables_(database),
        random_(seed, worker),
        a_(options.population.subscribers <= 1'000'000    ? 65535
           : options.population.subscribers <= 10'000'000 ? 1048575
                                                          : 2097151) {}
  ~TatpClient() override {
    const auto& of = acknowledged_types_;
    acknowledged_.forwardings.add(of[kInsertCallForwarding] - of[kDeleteCallForwarding]);
    acknowledged_.updates.add(of[kUpdateSubscriberData] + of[kUpdateLocation]);
  }

  // Draws, for every type, the fields that most types need, because branches would cost more.
  uint32_t next() override {
    before_ = last_;
    if (options_.only) {
      type_ = *options_.only;
    } else {
      uint64_t drawn = random_.below(100);
      uint32_t type = 0;
      while (drawn >= kTypeInfos[type].share_pct) drawn -= kTypeInfos[type++].share_pct;
      type_ = static_cast<Type>(type);
    }
    s_id_ = draw_subscriber();
    const uint64_t bits = random_.next();
    kind_ = 1 + bits % kTypes;
    bit_ = bits >> 2 & 1;
    data_a_ = static_cast<uint8_t>(bits >> 3);
    start_time_ = static_cast<uint32_t>(random_.below(kStarts)) * 8;
    switch (type_) {
      case kGetNewDestination:
        end_time_ = static_cast<uint8_t>(1 + random_.below(24));
        break;
      case kUpdateLocation:
        location_ = static_cast<uint32_t>(random_.between(1, 0xffff'ffff));
        sub_nbr_ = digits_of(s_id_);
        break;
      case kInsertCallForwarding:
        end_time_ = static_cast<uint8_t>(1 + random_.below(24));
        numberx_ = digits_of(draw_subscriber());
        sub_nbr_ = digits_of(s_id_);
        break;
      case kDeleteCallForwarding:
        sub_nbr_ = digits_of(s_id_);
        break;
      default:
        break;
    }
    return type_;
  }

  Status execute(Transaction& txn) override {
    last_ = before_;
    switch (type_) {
      case kGetSubscriberData:
        return get_subscriber_data(txn);
      case kGetNewDestination:
        return get_new_destination(txn);
      case kGetAccessData:
        return get_access_data(txn);
      case kUpdateSubscriberData:
        return update_subscriber_data(txn);
      case kUpdateLocation:
        return update_location(txn);
      case kInsertCallForwarding:
        return insert_call_forwarding(txn);
      case kDeleteCallForwarding:
        return delete_call_forwarding(txn);
    }
    return Status::kOk;
  }

  std::span<const std::byte> command() override {
    command_.clear();
    CommandFields fields(&command_);
    input(fields);
    return command_;
  }

  bool take(uint32_t type, std::span<const std::byte> command) override {
    type_ = static_cast<Type>(type);
    kind_ = 1;
    start_time_ = 0;
    CommandFields fields(command);
    input(fields);
    fields.require(is_type(kind_) && is_start(start_time_));
    return fields.ended() && !command.empty();
  }

  // Returns the type, from which acknowledged() knows the changes of the transaction.
  uint64_t committing() override { return type_; }
  void acknowledged(uint64_t type) override {
    LJ_ASSERT_IN_TESTS(type < acknowledged_types_.size());
    ++acknowledged_types_[type];
  }

 private:
  // Draws by the specification's "Key value distribution", which is NURand(A, 1, P).
  uint64_t draw_subscriber() {
    const uint64_t p = options_.population.subscribers;
    if (options_.uniform) return 1 + random_.below(p);
    return (random_.below(a_ + 1) | (1 + random_.below(p))) % p + 1;
  }

  void input(CommandFields& fields) {
    switch (type_) {
      case kUpdateSubscriberData:
        return fields(s_id_, kind_, bit_, data_a_, before_);
      case kUpdateLocation:
        return fields(sub_nbr_, location_, before_);
      case kInsertCallForwarding:
        return fields(sub_nbr_, kind_, start_time_, end_time_, numberx_);
      case kDeleteCallForwarding:
        return fields(sub_nbr_, kind_, start_time_);
      default:
        return;
    }
  }

  Status get_subscriber_data(Transaction& txn) {
    const auto* const row =
        read_or_die<Subscriber>(txn, tables_.subscriber, s_id_, "tatp: a subscriber");
    if (row == nullptr) return Status::kAbort;
    shown_ += row->vlr_location + row->byte2[9];
    return Status::kOk;
  }

  Status get_new_destination(Transaction& txn) {
    const Key key = typed_key(s_id_, kind_);
    const SpecialFacility* facility;
    const Status status = txn.read(tables_.special_facility, key, &facility);
    if (status != Status::kOk) return status;
    if (facility->is_active == 0) return Status::kNotFound;
    uint64_t found = 0;
    const Status scanned =
        txn.scan(tables_.call_forwarding, forwarding_key(key, 0), forwarding_key(key, start_time_),
                 false, [&](Key, const std::byte* bytes) {
                   const auto* row = reinterpret_cast<const CallForwarding*>(bytes);
                   if (end_time_ >= row->end_time) return true;
                   ++found;
                   shown_ += static_cast<uint64_t>(row->numberx.back());
                   return true;
                 });
    if (scanned != Status::kOk) return scanned;
    return found > 0 ? Status::kOk : Status::kNotFound;
  }

  Status get_access_data(Transaction& txn) {
    const AccessInfo* row;
    const Status status = txn.read(tables_.access_info, typed_key(s_id_, kind_), &row);
    if (status == Status::kOk) shown_ += row->data1;
    return status;
  }

  Status update_subscriber_data(Transaction& txn) {
    auto* const subscriber =
        update_or_die<Subscriber>(txn, tables_.subscriber, s_id_, "tatp: a subscriber");
    if (subscriber == nullptr) return Status::kAbort;
    subscriber->bit[0] = bit_;
    ++subscriber->data_updates;
    sign(s_id_, subscriber);
    SpecialFacility* facility;
    const Key key = typed_key(s_id_, kind_);
    const Status status = txn.update(tables_.special_facility, key, &facility);
    if (status != Status::kOk) {
      last_ = before_;
      return rolled_back_if(Status::kNotFound, status);
    }
    facility->data_a = data_a_;
    ++facility->updates;
    facility->seal = seal_of(key, *facility);
    return Status::kOk;
  }

  Status update_location(Transaction& txn) {
    Key s_id;
    if (!find_by_number(txn, &s_id)) return Status::kAbort;
    auto* const subscriber =
        update_or_die<Subscriber>(txn, tables_.subscriber, s_id, "tatp: a subscriber");
    if (subscriber == nullptr) return Status::kAbort;
    subscriber->vlr_location = location_;
    sign(s_id, subscriber);
    return Status::kOk;
  }

  void sign(Key s_id, Subscriber* row) {
    ++row->updates;
    row->previous = before_;
    row->seal = seal_of(s_id, *row);
    last_ = {static_cast<uint32_t>(s_id), row->updates};
  }

  // Selects the types of the subscriber's facilities, as the specification demands. Inserts the row
  // only if its own facility (its foreign key) has one of these types.
  Status insert_call_forwarding(Transaction& txn) {
    Key s_id;
    if (!find_by_number(txn, &s_id)) return Status::kAbort;
    bool referred = false;
    const Status status = txn.scan(tables_.special_facility, typed_key(s_id, 1),
                                   typed_key(s_id, kTypes), false, [&](Key key, const std::byte*) {
                                     referred |= type_of(key) == kind_;
                                     return true;
                                   });
    if (status != Status::kOk) return status;
    if (!referred) return Status::kRollback;
    const Key key = forwarding_key(typed_key(s_id, kind_), start_time_);
    CallForwarding row{.seal = 0, .end_time = end_time_, .numberx = numberx_};
    row.seal = seal_of(key, row);
    return rolled_back_if(Status::kExists, txn.insert(tables_.call_forwarding, key, row));
  }

  Status delete_call_forwarding(Transaction& txn) {
    Key s_id;
    if (!find_by_number(txn, &s_id)) return Status::kAbort;
    const Key key = forwarding_key(typed_key(s_id, kind_), start_time_);
    return rolled_back_if(Status::kNotFound, txn.erase(tables_.call_forwarding, key));
  }

  // Finds the subscriber with the number sub_nbr_. Returns false if the transaction must abort.
  bool find_by_number(Transaction& txn, Key* s_id) {
    bool found = false;
    const Status status =
        txn.read_secondary(tables_.subscriber, kBySubNbr, sub_nbr_key(sub_nbr_),
                           [&](Key primary, const std::byte* row) {
                             if (reinterpret_cast<const Subscriber*>(row)->sub_nbr != sub_nbr_)
                               return true;
                             *s_id = primary;
                             found = true;
                             return false;
                           });
    return found_or_die(status == Status::kOk && !found ? Status::kNotFound : status,
                        "tatp: a subscriber, by number,");
  }

  const Options& options_;
  Acknowledged& acknowledged_;
  Tables tables_;
  Random random_;
  const uint64_t a_;  // NURand's parameter A
  std::array<uint64_t, kTypeInfos.size()> acknowledged_types_{};
  uint64_t shown_ = 0;  // a sum, so that the compiler cannot drop the reads

  Type type_ = kGetSubscriberData;
  Key s_id_ = 0;
  Digits sub_nbr_{};
  uint32_t kind_ = 1;  // ai_type or sf_type
  uint32_t start_time_ = 0;
  uint8_t end_time_ = 0;
  uint8_t bit_ = 0;
  uint8_t data_a_ = 0;
  uint32_t location_ = 0;
  Digits numberx_{};
  // `before_` is the worker's last update of a subscriber before the drawn transaction. `last_` is
  // the worker's last update as soon as the transaction that it executed last has committed.
  PreviousUpdate before_, last_;
  std::vector<std::byte> command_;
};

std::optional<Type> type_named(std::string_view name) {
  for (uint32_t type = 0; type < kTypeInfos.size(); ++type) {
    if (kTypeInfos[type].name == name) return static_cast<Type>(type);
  }
  return std::nullopt;
}

std::string check_flags() {
  return first_refusal(
      {refuse_outside("tatp_subscribers", FLAGS_tatp_subscribers, 1, kMaxSubscribers),
       refuse_unless(FLAGS_tatp_only.empty() || type_named(FLAGS_tatp_only),
                     "--tatp_only is one of " + platform::join(kTypeInfos, ", ", &TypeInfo::name),
                     FLAGS_tatp_only),
       refuse_unless(FLAGS_tatp_end_times == "kit" || FLAGS_tatp_end_times == "text",
                     "--tatp_end_times is kit or text", FLAGS_tatp_end_times)});
}

uint64_t s_id_of_typed(Key key) { return subscriber_of(key); }
uint64_t type_of_typed(Key key) { return type_of(key); }

// Each function below returns a table's columns, for exports, named as in TATP's description.

Columns subscriber_columns() {
  return Columns()
      .key("s_id", [](Key key) { return key; })
      .field("sub_nbr", &Subscriber::sub_nbr)
      .fields("bit_", &Subscriber::bit)
      .fields("hex_", &Subscriber::hex)
      .fields("byte2_", &Subscriber::byte2)
      .field("msc_location", &Subscriber::msc_location)
      .field("vlr_location", &Subscriber::vlr_location)
      .field("updates", &Subscriber::updates)
      .field("previous_key", &Subscriber::previous, &PreviousUpdate::key)
      .field("previous_updates", &Subscriber::previous, &PreviousUpdate::updates)
      .field("data_updates", &Subscriber::data_updates)
      .field("seal", &Subscriber::seal);
}

Columns access_info_columns() {
  return Columns()
      .key("s_id", s_id_of_typed)
      .key("ai_type", type_of_typed)
      .field("data1", &AccessInfo::data1)
      .field("data2", &AccessInfo::data2)
      .field("data3", &AccessInfo::data3)
      .field("data4", &AccessInfo::data4);
}

Columns special_facility_columns() {
  return Columns()
      .key("s_id", s_id_of_typed)
      .key("sf_type", type_of_typed)
      .field("is_active", &SpecialFacility::is_active)
      .field("error_cntrl", &SpecialFacility::error_cntrl)
      .field("data_a", &SpecialFacility::data_a)
      .field("data_b", &SpecialFacility::data_b)
      .field("updates", &SpecialFacility::updates)
      .field("seal", &SpecialFacility::seal);
}

Columns call_forwarding_columns() {
  return Columns()
      .key("s_id", [](Key key) { return s_id_of_typed(facility_of(key)); })
      .key("sf_type", [](Key key) { return type_of_typed(facility_of(key)); })
      .key("start_time", [](Key key) { return uint64_t{start_of(key)}; })
      .field("end_time", &CallForwarding::end_time)
      .field("numberx", &CallForwarding::numberx)
      .field("seal", &CallForwarding::seal);
}

Key sub_nbr_key_of(Key, const std::byte* row) {
  return sub_nbr_key(reinterpret_cast<const Subscriber*>(row)->sub_nbr);
}

class Tatp : public Workload {
 public:
  explicit Tatp(const Options& options) : options_(options) {}

  // Creates the tables. On average a subscriber has two and a half rows of access_info and of
  // special_facility, and a special facility has one and a half rows of call_forwarding.
  void create_tables(Database& database) override {
    const uint64_t n = options_.population.subscribers;
    constexpr IndexKind kHash = IndexKind::kHash, kOrdered = IndexKind::kOrdered;
    const std::vector<SecondarySchema> by_number = {{"sub_nbr", kHash, true, sub_nbr_key_of}};
    database.create_table(
        {"subscriber", sizeof(Subscriber), kHash, n, by_number, subscriber_columns()});
    database.create_table(
        {"access_info", sizeof(AccessInfo), kHash, n * 5 / 2, {}, access_info_columns()});
    database.create_table({"special_facility",
                           sizeof(SpecialFacility),
                           kOrdered,
                           n * 5 / 2,
                           {},
                           special_facility_columns()});
    database.create_table({"call_forwarding",
                           sizeof(CallForwarding),
                           kOrdered,
                           n * 15 / 4,
                           {},
                           call_forwarding_columns()});
  }

  void load(Database& database, uint32_t part, uint32_t parts, Arena& arena) override {
    Tables tables(database);
    const uint64_t n = options_.population.subscribers;
    for (const uint64_t s_id : part_of(n, part, parts, 1)) {
      const Person person(s_id, options_.population);
      tables.subscriber.load(s_id, &person.subscriber, arena);
      for (uint32_t i = 0; i < kTypes; ++i) {
        const Key key = typed_key(s_id, i + 1);
        if (person.has_access[i]) tables.access_info.load(key, &person.access[i], arena);
        if (person.has_facility[i]) tables.special_facility.load(key, &person.facility[i], arena);
        for (uint32_t start = 0; start < kStarts; ++start) {
          if (!person.has_forwarding[i][start]) continue;
          tables.call_forwarding.load(forwarding_key(key, start * 8), &person.forwarding[i][start],
                                      arena);
        }
      }
    }
  }

  Specification spec() const override {
    const uint64_t n = options_.population.subscribers;
    Specification spec{.description = description(),
                       .expected_bytes = table_bytes(n, sizeof(Subscriber), 1) +
                                         table_bytes(n * 5 / 2, sizeof(AccessInfo)) +
                                         table_bytes(n * 5 / 2, sizeof(SpecialFacility)) +
                                         table_bytes(n * 15 / 4, sizeof(CallForwarding)),
                       // MQTh leaves out failed writes, which roll back; achieved_s counts them.
                       .headline = Headline{.name = "MQTh"}};
    for (const TypeInfo& type : kTypeInfos) {
      const double share = options_.only ? (*options_.only == spec.types.size() ? 100 : 0)
                                         : static_cast<double>(type.share_pct);
      spec.types.push_back({type.name, {{share, type.success_pct}}});
    }
    return spec;
  }

  std::unique_ptr<Client> make_client(Database& database, uint32_t worker, uint32_t,
                                      uint64_t seed) override {
    return std::make_unique<TatpClient>(options_, acknowledged_, database, worker, seed);
  }

  void resume(Database& database) override {
    Tables tables(database);
    acknowledged_.forwardings.resume(count_rows(tables.call_forwarding));
    acknowledged_.updates.resume(sum_of_rows(tables.subscriber, [](Key, const std::byte* row) {
      return reinterpret_cast<const Subscriber*>(row)->updates;
    }));
  }

  std::vector<Check> verify(Database& database) override {
    return tatp::verify(database, options_.population, acknowledged_, any_order_);
  }

  void note_any_order() override { any_order_ = true; }

 private:
  std::string description() const {
    return "tatp: " + std::to_string(options_.population.subscribers) + " subscribers, drawn " +
           (options_.uniform ? "uniformly" : "by NURand") + ", " +
           (options_.only ? std::string(kTypeInfos[*options_.only].name) + " only"
                          : "the standard mix") +
           ", end times of the " +
           (options_.population.end_times == EndTimes::kKit ? "kit" : "text");
  }

  const Options options_;
  Acknowledged acknowledged_;
  bool any_order_ = false;
};

const WorkloadRegistration registration({
    .name = "tatp",
    .what =
        "TATP's seven short transactions of a phone network's subscribers; reads that find nothing "
        "are told apart, writes roll back",
    .memory = "0.8 kB a subscriber",
    .load_flags = {"tatp_subscribers", "tatp_end_times"},
    .check_flags = check_flags,
    .make =
        [] {
          return std::make_unique<Tatp>(Options{
              .population = {FLAGS_tatp_subscribers,
                             FLAGS_tatp_end_times == "kit" ? EndTimes::kKit : EndTimes::kText},
              .uniform = drawn_uniformly.get() != 0,
              .only = type_named(FLAGS_tatp_only)});
        },
    .has_commands = true,
});

}  // namespace
}  // namespace logjam::tatp
