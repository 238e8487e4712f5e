#include "cli/flag_text.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/old_flags.h"
#include "platform/fatal.h"

namespace logjam {
namespace {

using platform::refuse;

constexpr int kMostFlagFiles = 16;  // inside each other: a file that names itself must end, too

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

[[noreturn]] void refuse_name(const std::string& name) {
  for (const std::string& old : {name, name.starts_with("no") ? name.substr(2) : ""}) {
    if (const std::string why = what_became_of(old); !why.empty()) refuse(why);
  }
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  const auto nearest = std::min_element(all.begin(), all.end(), [&](auto& a, auto& b) {
    return edit_distance(name, a.name) < edit_distance(name, b.name);
  });
  refuse("there is no flag --" + name + " (did you mean --" + nearest->name +
         "?); `logjam COMMAND --help=all` lists them");
}

// Describes the values of a gflags type.
std::string words_for(const std::string& type) {
  if (type == "bool") return "true or false";
  if (type == "double") return "a number";
  if (type == "uint32") return "a whole number from 0 to 4294967295";
  if (type == "uint64") return "a whole number from 0 to 18446744073709551615";
  if (type == "int32") return "a whole number from -2147483648 to 2147483647";
  return "a whole number";
}

void refuse_bad_arguments(const std::vector<std::string>& arguments, bool in_file, int depth);

void refuse_bad_value(const gflags::CommandLineFlagInfo& flag, const std::string& value,
                      int depth) {
  if (flag.name == "flagfile") {
    if (depth == kMostFlagFiles) refuse("--flagfile=" + value + " is nested too deeply");
    std::ifstream in(value);
    if (!in) refuse("cannot read --flagfile=" + value + ": " + strerror(errno));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      const size_t begin = line.find_first_not_of(" \t");
      if (begin != line.npos) lines.push_back(line.substr(begin));
    }
    refuse_bad_arguments(lines, true, depth + 1);
    return;
  }
  if (flag.type == "string") return;
  // gflags itself decides which values it takes: this sets the flag, and FlagSaver restores it.
  const gflags::FlagSaver saver;
  if (gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty()) {
    refuse("--" + flag.name + "=" + value + " is not " + words_for(flag.type));
  }
}

void refuse_bad_arguments(const std::vector<std::string>& arguments, bool in_file, int depth) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") return;
    if (argument.size() < 2 || argument[0] != '-') continue;
    const size_t begin = argument.find_first_not_of('-');
    if (begin == argument.npos) continue;
    const size_t equals = argument.find('=');
    std::string name = argument.substr(begin, equals == argument.npos ? equals : equals - begin);
    std::ranges::replace(name, '-', '_');
    gflags::CommandLineFlagInfo flag;
    if (!gflags::GetCommandLineFlagInfo(name.c_str(), &flag)) {
      const bool negated = name.starts_with("no") &&
                           gflags::GetCommandLineFlagInfo(name.c_str() + 2, &flag) &&
                           flag.type == "bool";
      if (!negated) refuse_name(name);
      continue;
    }
    if (equals != argument.npos) {
      refuse_bad_value(flag, argument.substr(equals + 1), depth);
    } else if (flag.type != "bool") {  // the value is the next argument
      if (in_file || i + 1 == arguments.size()) refuse("--" + flag.name + " needs a value");
      refuse_bad_value(flag, arguments[++i], depth);
    }
  }
}

}  // namespace

void refuse_bad_flags(const std::vector<std::string>& arguments) {
  refuse_bad_arguments(arguments, false, 0);
}

}  // namespace logjam
