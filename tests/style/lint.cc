#include "tests/style/lint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>

namespace logjam::lint {
namespace {

constexpr size_t kMaxLines = 480;
constexpr size_t kMaxColumns = 100;
constexpr size_t kMaxSchemeCodeLines = 150;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool starts_with_any(std::string_view text, const std::vector<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

bool is_cpp(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".h"); }

// A room, and the headers of the project that it may include, as prefixes of their full paths.
// The first entry that is a prefix of the including file's path counts.
struct Room {
  std::string_view path;
  std::vector<std::string_view> may_include;
};

const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"platform/", {"platform/"}},
      {"sim/measure/", {"sim/measure/", "platform/"}},
      {"sim/", {"sim/", "platform/"}},
      {"engine/checkpoint/", {"engine/", "platform/", "logging/log_scheme.h", "logging/format/"}},
      {"engine/",
       {"engine/", "platform/", "logging/log_scheme.h", "logging/recovery_rule.h",
        "logging/scheme_registry.h", "logging/format/log_reader.h", "logging/format/record.h",
        "logging/format/range_image.h", "logging/format/checkpoint.h",
        "logging/format/manifest_file.h", "logging/format/segments.h"}},
      {"cc/",
       {"cc/", "engine/", "platform/", "logging/log_scheme.h", "logging/read_stamps.h",
        "logging/row_vectors.h", "logging/format/record.h", "logging/format/range_image.h",
        "logging/format/staged_record.h"}},
      {"logging/", {"logging/", "platform/"}},
      {"workloads/log_insert/",
       {"workloads/log_insert/", "engine/stats/", "engine/run/commit_pipeline.h",
        "engine/run/benchmark_threads.h", "platform/", "logging/log_scheme.h",
        "logging/format/staged_record.h"}},
      {"workloads/sync/", {"workloads/sync/", "engine/run/benchmark_threads.h", "platform/"}},
      {"workloads/",
       {"workloads/", "engine/workload.h", "engine/transaction.h", "engine/storage/", "platform/"}},
      {"proof/",
       {"proof/", "workloads/", "engine/workload.h", "engine/transaction.h", "engine/storage/",
        "platform/"}},
      {"cli/", {"cli/", "platform/", "sim/", "engine/", "cc/", "logging/", "workloads/", "proof/"}},
      {"scripts/", {"scripts/", "platform/", "engine/", "cc/", "logging/", "workloads/"}},
      {"tests/",
       {"tests/", "cli/", "platform/", "sim/", "engine/", "cc/", "logging/", "workloads/",
        "proof/"}},
  };
  return table;
}

// The number of the floor with the longest prefix of `path`, none if there is no such floor.
std::optional<size_t> floor_of(std::string_view path, const Floors& floors) {
  std::optional<size_t> found;
  size_t longest = 0;
  for (size_t floor = 0; floor < floors.size(); ++floor) {
    for (const std::string& prefix : floors[floor]) {
      if (!path.starts_with(prefix) || prefix.size() <= longest) continue;
      found = floor;
      longest = prefix.size();
    }
  }
  return found;
}

// A regular expression, and a text that each of its matches contains. A search by expression is
// slow, so it begins only in a line that has the text.
struct Rule {
  std::string_view part;
  std::regex pattern;

  bool finds(std::string_view line, std::cmatch* match) const {
    return line.find(part) != line.npos &&
           std::regex_search(line.begin(), line.end(), *match, pattern);
  }
};

struct Banned {
  const char* part;  // as in Rule
  const char* pattern;
  const char* instead;
};

// logging/ and cc/ are to be built a second time against a simulated platform/, so every way
// around it is banned.
constexpr std::array kAroundThePlatform = {
    Banned{"std::", R"(\bstd::atomic)", "platform::atomic"},
    Banned{"std::", R"(\bstd::memory_order)", "platform::memory_order_..."},
    Banned{"__", R"(\b__(atomic|sync)_)", "platform::atomic"},
    Banned{"std::", R"(\bstd::(\w+_)?mutex\b)", "platform::mutex"},
    Banned{"std::", R"(\bstd::condition_variable)", "platform::Parker"},
    Banned{"std::", R"(\bstd::(j?thread|this_thread)\b)", "platform::thread"},
    Banned{"pthread_", R"(\bpthread_)", "platform::thread"},
    Banned{"volatile", R"(\bvolatile\b)", "platform::atomic"},
    Banned{"rdtsc", R"(rdtsc)", "platform::ticks()"},
    Banned{"std::", R"(\bstd::chrono\b)", "platform::now_ns()"},
    Banned{"thread_local", R"(\bthread_local\b)", "what the worker owns"},
    Banned{"asm", R"(\b(__)?asm(__)?\b)", "a function of platform/"},
    Banned{"_mm_pause", R"(\b_mm_pause\b)", "platform::pause()"},
    Banned{"if", R"(^\s*#\s*(el)?if)", "a choice at run time"},
    Banned{
        "include",
        R"(^\s*#\s*include\s*<(std)?(atomic|mutex|shared_mutex|thread|chrono|condition_variable|)"
        R"(semaphore|latch|barrier|x86intrin\.h|immintrin\.h|pthread\.h|sched\.h)(\.h)?>)",
        "platform/"},
};

class Checker {
 public:
  Checker(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  void layout() {
    const auto lines = lines_of(text_);
    if (lines.size() > kMaxLines) {
      add(0, std::to_string(lines.size()) + " lines: more than " + std::to_string(kMaxLines) +
                 ", is it one idea?");
    }
    // The words are split, or the rule would find them here.
    static const auto later = [] {
      std::vector<Rule> rules;
      for (const char* word : {"TO"
                               "DO",
                               "FIX"
                               "ME",
                               "XX"
                               "X"}) {
        rules.push_back({word, std::regex("\\b" + std::string(word) + "\\b")});
      }
      return rules;
    }();
    for (size_t i = 0; i < lines.size(); ++i) {
      std::cmatch match;
      for (const Rule& rule : later) {
        if (rule.finds(lines[i], &match)) add(i + 1, "left for later: do it, or open an issue");
      }
      if (!is_cpp(path_)) continue;
      if (lines[i].size() > kMaxColumns) add(i + 1, "more than 100 columns");
      if (lines[i].find('\t') != std::string_view::npos) add(i + 1, "a tab");
    }
  }

  void includes(const Floors& floors) {
    const auto room = std::find_if(rooms().begin(), rooms().end(), [&](const Room& candidate) {
      return path_.starts_with(candidate.path);
    });
    static const Rule include{"include", std::regex(R"(^\s*#\s*include\s*"([^"]+)\")")};
    const std::string code = strip(text_, Literals::kKeep);
    const auto lines = lines_of(code);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::cmatch match;
      if (!include.finds(lines[i], &match)) continue;
      const std::string header = match[1];
      if (header.find("..") != std::string::npos || header.ends_with(".cc")) {
        add(i + 1, "includes \"" + header + "\": name a header by its path from the root");
      } else if (room == rooms().end()) {
        add(i + 1, "is in no room: see ARCHITECTURE.md");
      } else if (!starts_with_any(header, room->may_include)) {
        add(i + 1, std::string(room->path) + " may not include \"" + header + "\"");
      } else if (floor_of(header, floors) > floor_of(path_, floors)) {
        add(i + 1,
            "includes \"" + header + "\", which is on a floor above (tests/style/floors.txt)");
      }
    }
  }

  // A flag of a higher floor is a dependency upwards that no #include shows.
  void flags(const Floors& floors, const Flags& flags) {
    static const Rule declared{"DECLARE_", std::regex(R"(^\s*DECLARE_\w+\((\w+)\))")};
    const auto lines = lines_of(text_);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::cmatch match;
      if (!declared.finds(lines[i], &match)) continue;
      const auto flag = flags.find(match[1]);
      if (flag != flags.end() && floor_of(flag->second, floors) > floor_of(path_, floors)) {
        add(i + 1, "uses --" + flag->first + " of " + flag->second + ", which is on a floor above");
      }
    }
  }

  // A scheme composes shared parts and adds only what is its own, so it is short. Its proofs are
  // comments, which do not count.
  void short_scheme() {
    const std::string code = strip(text_, Literals::kKeep);
    const auto lines = lines_of(code);
    const auto written = std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
      return line.find_first_not_of(' ') != std::string_view::npos;
    });
    if (static_cast<size_t>(written) > kMaxSchemeCodeLines) {
      add(0, std::to_string(written) + " lines of code: more than " +
                 std::to_string(kMaxSchemeCodeLines) + ", what in them belongs to a shared part?");
    }
  }

  // Only platform/ includes oneTBB, so that one file reports its forks and joins to
  // ThreadSanitizer.
  void tasks() {
    static const Rule tbb{"tbb/", std::regex(R"(^\s*#\s*include\s*[<"](oneapi/)?tbb/)")};
    const std::string code = strip(text_, Literals::kKeep);
    const auto lines = lines_of(code);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::cmatch match;
      if (tbb.finds(lines[i], &match)) add(i + 1, "includes oneTBB: use platform/parallel.h");
    }
  }

  void platform_seam() {
    static const auto rules = [] {
      std::vector<std::pair<Rule, const Banned*>> compiled;
      for (const Banned& banned : kAroundThePlatform) {
        compiled.push_back({{banned.part, std::regex(banned.pattern)}, &banned});
      }
      return compiled;
    }();
    const std::string code = strip(text_, Literals::kBlank);
    const auto lines = lines_of(code);
    for (size_t i = 0; i < lines.size(); ++i) {
      for (const auto& [rule, banned] : rules) {
        std::cmatch match;
        if (rule.finds(lines[i], &match)) {
          add(i + 1, "\"" + match.str() + "\" goes around platform/: use " + banned->instead);
        }
      }
    }
  }

  // Comments may cite papers. Code must not contain the name of a scheme.
  void schemes(const std::vector<std::string_view>& names) {
    const std::string code = strip(text_, Literals::kKeep);
    const auto lines = lines_of(code);
    for (size_t i = 0; i < lines.size(); ++i) {
      for (std::string_view name : names) {
        const std::string literal = "\"" + std::string(name) + "\"";
        if (lines[i].find(literal) != std::string_view::npos) {
          add(i + 1, "names the scheme " + literal + ": ask its traits() instead");
        }
      }
    }
  }

  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void add(size_t line, std::string what) { findings_.push_back({path_, line, std::move(what)}); }

  const std::string& path_;
  const std::string& text_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string to_string(const Finding& finding) {
  return finding.path + (finding.line == 0 ? "" : ":" + std::to_string(finding.line)) + ": " +
         finding.what;
}

std::string strip(std::string_view code, Literals literals) {
  std::string out;
  out.reserve(code.size());
  // Copies the code before `end`, or writes spaces in its place. Line breaks always stay.
  size_t at = 0;
  const auto copy_to = [&](size_t end, bool keep) {
    for (end = std::min(end, code.size()); at < end; ++at) {
      out += keep || code[at] == '\n' ? code[at] : ' ';
    }
  };
  const auto find_from = [&](std::string_view what, size_t from) {
    const size_t found = code.find(what, from);
    return found == std::string_view::npos ? code.size() : found;
  };
  while (at < code.size()) {
    const std::string_view rest = code.substr(at);
    const bool after_word =
        at > 0 && (std::isalnum(static_cast<unsigned char>(code[at - 1])) || code[at - 1] == '_');
    if (rest.starts_with("//")) {
      copy_to(find_from("\n", at), false);
    } else if (rest.starts_with("/*")) {
      copy_to(find_from("*/", at + 2) + 2, false);
    } else if (rest.starts_with("R\"") && !after_word) {
      const size_t open = find_from("(", at);
      const std::string close = ")" + std::string(code.substr(at + 2, open - at - 2)) + "\"";
      copy_to(find_from(close, open) + close.size(), literals == Literals::kKeep);
    } else if (rest[0] == '"' || (rest[0] == '\'' && !after_word)) {  // 1'000 is a number
      size_t end = at + 1;
      while (end < code.size() && code[end] != rest[0] && code[end] != '\n') {
        end += code[end] == '\\' ? 2 : 1;
      }
      copy_to(at + 1, true);
      copy_to(end, literals == Literals::kKeep);
      copy_to(end + 1, true);
    } else {
      copy_to(at + 1, true);
    }
  }
  return out;
}

Floors read_floors(const std::string& text) {
  Floors floors;
  for (std::string_view line : lines_of(text)) {
    std::istringstream words{std::string(line.substr(0, line.find('#')))};
    std::vector<std::string> floor{std::istream_iterator<std::string>(words), {}};
    if (!floor.empty()) floors.push_back(std::move(floor));
  }
  return floors;
}

void find_flags(const std::string& path, const std::string& text, const Floors& floors,
                Flags* flags) {
  static const std::regex defined(R"((^|\n)DEFINE_\w+\(\s*(\w+),)");
  if (text.find("DEFINE_") == text.npos) return;  // a search by expression is slow
  for (std::sregex_iterator at(text.begin(), text.end(), defined), end; at != end; ++at) {
    const auto [flag, added] = flags->emplace((*at)[2], path);
    if (floor_of(path, floors) < floor_of(flag->second, floors)) flag->second = path;
  }
}

std::vector<Finding> check(const std::string& path, const std::string& text,
                           const std::vector<std::string_view>& schemes, const Floors& floors,
                           const Flags& flags) {
  Checker checker(path, text);
  checker.layout();
  if (is_cpp(path)) {
    checker.includes(floors);
    checker.flags(floors, flags);
    if (path.starts_with("logging/schemes/") && text.find("SchemeRegistration") != text.npos) {
      checker.short_scheme();
    }
    if (!path.starts_with("platform/")) checker.tasks();
    if (path.starts_with("logging/") || path.starts_with("cc/")) checker.platform_seam();
    if (path.starts_with("cc/") || path.starts_with("engine/")) {
      checker.schemes(schemes);
    }
  }
  return checker.take();
}

}  // namespace logjam::lint
