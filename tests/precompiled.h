// The headers that most tests include. g++ reads them precompiled, which saves a third of a test's
// compile time; see the Makefile. Each test still includes what it uses. There is no include guard:
// g++ warns of `#pragma once` in the file that it precompiles, and no other file includes this one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>
