#include "platform/worker_class.h"

#include <glog/logging.h>

namespace logjam::platform {
namespace {

constexpr char kAutogroup[] = "/proc/sys/kernel/sched_autogroup_enabled";

std::string word_of(SchedulingClass scheduling) {
  constexpr const char* kWords[] = {"normal", "batch", "idle", "real time"};
  return kWords[static_cast<size_t>(scheduling)];
}

}  // namespace

WorkerClass::WorkerClass(const Request& request, const KernelFiles& kernel,
                         const std::function<bool(uint32_t)>& others_idle) {
  Wanted wanted = request.wanted;
  const SchedulingClass started_in = scheduling_class();
  set_class_ = wanted != Wanted::kAuto;
  help_ = "--worker_class=idle takes the idle class";
  if (wanted == Wanted::kIdle ||
      (wanted == Wanted::kAuto && started_in == SchedulingClass::kIdle)) {
    take_idle({Wanted::kIdle, request.workers, true}, kernel, others_idle);
  } else if (wanted == Wanted::kBatch) {
    take(SchedulingClass::kBatch, "");
  } else if (wanted == Wanted::kNormal) {
    take(SchedulingClass::kNormal, "");
  } else if (started_in != SchedulingClass::kNormal) {
    take(started_in, ", like the whole process");
  } else if (!request.preemption_helps) {
    take(SchedulingClass::kNormal, ": no write holds up commits while workers are busy");
  } else {
    take_idle(request, kernel, others_idle);
  }
  if (!preemptible_ && request.preemption_helps) {
    cost_ =
        "a write's completion waits for the next tick while workers are busy, so a commit takes "
        "some ms instead of 0.25 ms; " +
        help_;
  }
}

// Takes the idle class. With Wanted::kAuto, takes the normal class if the idle class has no effect,
// or would leave the workers too little processor time.
void WorkerClass::take_idle(const Request& request, const KernelFiles& kernel,
                            const std::function<bool(uint32_t)>& others_idle) {
  const GroupPlace place = group_place(kernel);
  const bool autogroup = kernel.word(kAutogroup) == "1";
  if (place == GroupPlace::kTop) group_ = IdleGroup::make(kernel);
  std::string why_not, where;
  if (place == GroupPlace::kNested) {
    why_not =
        "this process is in a cgroup, and it is that group which kernel workers would have to "
        "preempt";
    help_ =
        "as root, `systemd-run --scope --slice=-.slice -p CPUWeight=idle logjam run ...` makes "
        "that group idle";
  } else if (group_ != nullptr) {
    where = "cgroup v" + std::to_string(group_->version());
  } else if (place == GroupPlace::kIdle) {
    where = "in an idle cgroup";
  } else if (!autogroup) {
    where = "autogroup off";
  } else {
    why_not = "autogroup is on, and no cgroup with cpu.idle can be made";
    help_ = "`sysctl kernel.sched_autogroup_enabled=0`, as root, gives the idle class its effect";
  }
  if (request.wanted == Wanted::kAuto && !why_not.empty()) {
    take(SchedulingClass::kNormal, ": the idle class has no effect, because " + why_not);
    return;
  }
  if (request.wanted == Wanted::kAuto && !others_idle(request.workers)) {
    end();
    take(SchedulingClass::kNormal,
         ": other programs use more than a tenth of the processor time, and would take that from "
         "the idle class");
    help_ = "--worker_class=idle takes the idle class all the same";
    return;
  }
  set_class_ = true;
  preemptible_ = why_not.empty();
  take(SchedulingClass::kIdle,
       preemptible_ ? " (" + where +
                          "): kernel workers and log threads preempt them at once, and "
                          "so does every other program"
                    : ", without effect: " + why_not);
  if (class_ != SchedulingClass::kIdle) return;
  granted_ += ", " + (preemptible_ ? where : "without effect");
}

// Takes the class, with the reason `why` for the report. A thread tries the class first, so that
// the report names the class that workers really get.
void WorkerClass::take(SchedulingClass scheduling, const std::string& why) {
  class_ = scheduling;
  bool entered = false;
  thread trial([&] {
    entered = enter();
    scheduling = scheduling_class();
  });
  trial.join();
  granted_ = word_of(scheduling);
  reason_ = "workers run in the " + granted_ + " class" + why;
  if (entered) return;
  reason_ = "workers run in the " + granted_ + " class: the kernel refuses the " + word_of(class_) +
            " class";
  class_ = scheduling;
  set_class_ = preemptible_ = false;
  end();
}

void WorkerClass::join() const {
  LOG_IF(WARNING, !enter()) << "a worker is not in the class that was granted: " << granted_;
}

bool WorkerClass::enter() const {
  const bool grouped = group_ == nullptr || group_->join();
  return (!set_class_ || set_scheduling_class(class_)) && grouped;
}

void WorkerClass::end() { group_.reset(); }

}  // namespace logjam::platform
