#include <utility>

#include "workloads/expect_row.h"
#include "workloads/tatp/tatp.h"

namespace logjam::tatp {
namespace {

// Returns the end of a transaction whose write returned `status`: a rollback if `status` is
// `failed`.
Status rolled_back_if(Status failed, Status status) {
  return status == failed ? Status::kRollback : status;
}

}  // namespace

TatpClient::TatpClient(const Options& options, Acknowledged& acknowledged, Database& database,
                       uint32_t worker, uint64_t seed)
    : options_(options),
      acknowledged_(acknowledged),
      tables_(database),
      random_(seed, worker),
      a_(options.population.subscribers <= 1'000'000    ? 65535
         : options.population.subscribers <= 10'000'000 ? 1048575
                                                        : 2097151) {}

TatpClient::~TatpClient() {
  const auto& of = acknowledged_types_;
  acknowledged_.forwardings.add(of[kInsertCallForwarding] - of[kDeleteCallForwarding]);
  acknowledged_.updates.add(of[kUpdateSubscriberData] + of[kUpdateLocation]);
}

// Draws from the specification's "Key value distribution": NURand(A, 1, P).
uint64_t TatpClient::draw_subscriber() {
  const uint64_t p = options_.population.subscribers;
  if (options_.uniform) return 1 + random_.below(p);
  return (random_.below(a_ + 1) | (1 + random_.below(p))) % p + 1;
}

// Draws for each type all fields that most types need, which costs less than a distinction.
uint32_t TatpClient::next() {
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

Status TatpClient::execute(Transaction& txn) {
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

void TatpClient::input(CommandFields& fields) {
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

std::span<const std::byte> TatpClient::command() {
  command_.clear();
  CommandFields fields(&command_);
  input(fields);
  return command_;
}

bool TatpClient::take(uint32_t type, std::span<const std::byte> command) {
  type_ = static_cast<Type>(type);
  kind_ = 1;
  start_time_ = 0;
  CommandFields fields(command);
  input(fields);
  fields.require(is_type(kind_) && is_start(start_time_));
  return fields.ended() && !command.empty();
}

Status TatpClient::get_subscriber_data(Transaction& txn) {
  const Subscriber* row;
  if (!found_or_die(txn.read(tables_.subscriber, s_id_, &row), "tatp: a subscriber")) {
    return Status::kAbort;
  }
  shown_ += row->vlr_location + row->byte2[9];
  return Status::kOk;
}

Status TatpClient::get_new_destination(Transaction& txn) {
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

Status TatpClient::get_access_data(Transaction& txn) {
  const AccessInfo* row;
  const Status status = txn.read(tables_.access_info, typed_key(s_id_, kind_), &row);
  if (status == Status::kOk) shown_ += row->data1;
  return status;
}

Status TatpClient::update_subscriber_data(Transaction& txn) {
  Subscriber* subscriber;
  if (!found_or_die(txn.update(tables_.subscriber, s_id_, &subscriber), "tatp: a subscriber")) {
    return Status::kAbort;
  }
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

Status TatpClient::update_location(Transaction& txn) {
  Key s_id;
  Subscriber* subscriber;
  if (!find_by_number(txn, &s_id) ||
      !found_or_die(txn.update(tables_.subscriber, s_id, &subscriber), "tatp: a subscriber")) {
    return Status::kAbort;
  }
  subscriber->vlr_location = location_;
  sign(s_id, subscriber);
  return Status::kOk;
}

void TatpClient::sign(Key s_id, Subscriber* row) {
  ++row->updates;
  row->previous = before_;
  row->seal = seal_of(s_id, *row);
  last_ = {static_cast<uint32_t>(s_id), row->updates};
}

// Selects the types of the subscriber's facilities, as the specification asks, and inserts the row
// if these types include the type to which the row refers (its foreign key).
Status TatpClient::insert_call_forwarding(Transaction& txn) {
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

Status TatpClient::delete_call_forwarding(Transaction& txn) {
  Key s_id;
  if (!find_by_number(txn, &s_id)) return Status::kAbort;
  const Key key = forwarding_key(typed_key(s_id, kind_), start_time_);
  return rolled_back_if(Status::kNotFound, txn.erase(tables_.call_forwarding, key));
}

bool TatpClient::find_by_number(Transaction& txn, Key* s_id) {
  bool found = false;
  const Status status = txn.read_secondary(
      tables_.subscriber, kBySubNbr, sub_nbr_key(sub_nbr_), [&](Key primary, const std::byte* row) {
        if (reinterpret_cast<const Subscriber*>(row)->sub_nbr != sub_nbr_) return true;
        *s_id = primary;
        found = true;
        return false;
      });
  return found_or_die(status == Status::kOk && !found ? Status::kNotFound : status,
                      "tatp: a subscriber, by number,");
}

}  // namespace logjam::tatp
