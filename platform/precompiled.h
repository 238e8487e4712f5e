// Headers of libraries that most files include. g++ reads them precompiled, which saves a quarter
// of the compile time and changes no instruction; see the Makefile. Each file still includes what
// it uses. There is no include guard: g++ warns of `#pragma once` in the file that it precompiles.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
