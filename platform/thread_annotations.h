// Clang's annotations of thread safety (-Wthread-safety,
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html): which latch guards a field, which latch
// or role a function's caller holds.
//
//   uint64_t tail_ LJ_GUARDED_BY(latch_);            only who holds latch_ reads or writes tail_
//   void step() LJ_REQUIRES(latch_);                 the caller holds latch_
//   void flush() LJ_EXCLUDES(latch_);                the caller does not hold latch_
//   void poll(uint32_t worker) LJ_REQUIRES(worker_role);   a worker calls it
//   ThreadRole::Scope role(worker_role);             this thread is a worker until the scope ends
//   worker_role.assume();                            a worker calls this, which no type says
#pragma once

#if defined(__clang__)
#define LJ_ANNOTATION(x) __attribute__((x))
#else
#define LJ_ANNOTATION(x)
#endif

#define LJ_CAPABILITY(name) LJ_ANNOTATION(capability(name))
#define LJ_SCOPED_CAPABILITY LJ_ANNOTATION(scoped_lockable)
#define LJ_GUARDED_BY(latch) LJ_ANNOTATION(guarded_by(latch))
#define LJ_REQUIRES(...) LJ_ANNOTATION(requires_capability(__VA_ARGS__))
#define LJ_ACQUIRE(...) LJ_ANNOTATION(acquire_capability(__VA_ARGS__))
#define LJ_ACQUIRE_SHARED(...) LJ_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define LJ_TRY_ACQUIRE(...) LJ_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define LJ_RELEASE(...) LJ_ANNOTATION(release_capability(__VA_ARGS__))
#define LJ_RELEASE_SHARED(...) LJ_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define LJ_EXCLUDES(...) LJ_ANNOTATION(locks_excluded(__VA_ARGS__))
#define LJ_ASSERT_HELD(...) LJ_ANNOTATION(assert_capability(__VA_ARGS__))
#define LJ_RETURN_CAPABILITY(x) LJ_ANNOTATION(lock_returned(x))
#define LJ_NOT_ANALYSED LJ_ANNOTATION(no_thread_safety_analysis)

namespace logjam::platform {

// The job of a thread, as a capability: it exists for the compiler alone.
class LJ_CAPABILITY("role") ThreadRole {
 public:
  constexpr ThreadRole() = default;
  ThreadRole(const ThreadRole&) = delete;
  ThreadRole& operator=(const ThreadRole&) = delete;

  void assume() const LJ_ASSERT_HELD(this) {}

  class LJ_SCOPED_CAPABILITY Scope {
   public:
    explicit Scope(const ThreadRole& role) LJ_ACQUIRE(role) { static_cast<void>(role); }
    ~Scope() LJ_RELEASE() {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };
};

// The role of the worker thread whose number is the parameter `worker` of a function.
inline constexpr ThreadRole worker_role;
// The role of a thread of the log: a flusher, or the thread that drains the log at its end.
inline constexpr ThreadRole log_role;

// Locks a latch while it lives.
template <class Latch>
class LJ_SCOPED_CAPABILITY lock_guard {
 public:
  explicit lock_guard(Latch& latch) LJ_ACQUIRE(latch) : latch_(latch) { latch_.lock(); }
  ~lock_guard() LJ_RELEASE() { latch_.unlock(); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  Latch& latch_;
};

}  // namespace logjam::platform
