// A reference to a callable, for parameters: no copy and no allocation, unlike std::function.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace logjam::platform {

template <class Signature>
class FunctionRef;

// Does not own its callable, which outlives the call. A variable `FunctionRef<...> f = [&] {...};`
// would dangle: name the lambda instead.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  constexpr FunctionRef(std::nullptr_t = nullptr) {}

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           !std::is_function_v<std::remove_reference_t<F>> &&
           std::is_invocable_r_v<Result, F&, Args...>) FunctionRef(F&& callable)
      : callable_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* target, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(target))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(callable_, std::forward<Args>(args)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  void* callable_ = nullptr;
  Result (*call_)(void*, Args...) = nullptr;
};

}  // namespace logjam::platform
