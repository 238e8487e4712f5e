#include "tests/style/docs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

namespace logjam::lint {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSourceEndings = {".h",  ".cc",  ".py",    ".sh", ".toml",
                                       ".md", ".sql", ".flags", ".js", ".txt"};

// Flags of libraries and of programs that pages tell readers to run.
constexpr std::array kOthersFlags = {"constraint",    "exclude",   "exclusive", "flagfile",
                                     "gtest_filter",  "help",      "log_dir",   "user",
                                     "nologtostderr", "partition", "scope",     "slice",
                                     "sshloginfile",  "time",      "v",         "vmodule",
                                     "wrap"};

bool is_cpp(const std::string& path) { return path.ends_with(".cc") || path.ends_with(".h"); }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_path(char c) {
  return is_word(c) || std::string_view("./-{},<>*").find(c) != std::string_view::npos;
}

std::string word_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return std::string(text.substr(at, end - at));
}

// Returns the name of the flag at `at`, without its dashes.
std::string flag_at(std::string_view text, size_t at) {
  size_t end = at + 2;
  while (end < text.size() && (is_word(text[end]) || text[end] == '-')) ++end;
  return std::string(text.substr(at + 2, end - at - 2));
}

// Returns the paths that `word` stands for: `a.{h,cc}` for two, `a.h,b.h` for two.
std::vector<std::string> expanded(const std::string& word) {
  const size_t open = word.find('{');
  const size_t close = word.find('}', open);
  const bool braces = close != std::string::npos;
  std::vector<std::string> paths;
  std::string list = braces ? word.substr(open + 1, close - open - 1) : word;
  for (size_t end = 0; !list.empty(); list.erase(0, end + 1)) {
    end = std::min(list.find(','), list.size());
    const std::string part = list.substr(0, end);
    paths.push_back(braces ? word.substr(0, open) + part + word.substr(close + 1) : part);
  }
  return paths;
}

}  // namespace

TreeNames::TreeNames(std::map<std::string, std::string> files) : files_(std::move(files)) {
  for (const auto& [path, text] : files_) {
    for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
      folders_.insert(path.substr(0, end));
    }
    if (is_cpp(path)) find_types(path);
    if (path.ends_with(".py") || path.ends_with(".sh")) find_arguments(text);
  }
}

void TreeNames::find_types(const std::string& path) {
  const std::string code = strip(files_.at(path), Literals::kBlank);
  std::set<std::string>& words = words_[path];
  std::string before;  // the word before `word`
  for (size_t at = 0; at < code.size(); ++at) {
    if (!is_word(code[at])) continue;
    const std::string word = word_at(code, at);
    words.insert(word);
    at += word.size();
    if (word == "alignas") at = std::min(code.find(')', at), code.size());
    if (word == "alignas" || word == "nodiscard") continue;  // the type's name follows
    const bool declares = before == "class" || before == "struct" || before == "enum" ||
                          before == "union" || before == "using";
    if (before.starts_with("DEFINE_")) flags_.insert(word);
    before = word;
    if (!declares || word == "class") continue;
    const size_t end = code.find_first_of("{;:=>(,", at);
    if (end == code.npos || std::string_view("{:=").find(code[end]) == std::string_view::npos) {
      continue;
    }
    declared_in_[word].insert(path);
    if (code[end] != ':') continue;
    const size_t body = std::min(code.find_first_of("{;", end), code.size());
    for (size_t base = end; base < body; ++base) {
      if (is_word(code[base]) && !is_word(code[base - 1])) {
        bases_[word].insert(word_at(code, base));
      }
    }
  }
}

void TreeNames::find_arguments(const std::string& script) {
  for (size_t at = script.find("--"); at != script.npos; at = script.find("--", at + 1)) {
    const std::string flag = flag_at(script, at);
    const char after = script[std::min(at + 2 + flag.size(), script.size() - 1)];
    if (after == '"' || after == ')') flags_.insert(flag);  // an argument's name, a case of a shell
  }
}

bool TreeNames::has_path(const std::string& path) const {
  return files_.contains(path) || folders_.contains(path);
}

bool TreeNames::has_end_of_path(const std::string& end) const {
  const auto ends = [&](const std::string& path) { return path.ends_with("/" + end); };
  return has_path(end) || std::ranges::any_of(folders_, ends) ||
         std::ranges::any_of(files_, ends, [](const auto& file) { return file.first; });
}

std::string TreeNames::why_no_path(const std::string& word, bool in_code) const {
  if (word.find_first_of("<>*") != word.npos || word.find("..") != word.npos) return "";
  for (std::string path : expanded(word)) {
    const bool folder = path.ends_with('/');
    while (!path.empty() && std::string_view("./-").find(path.back()) != std::string_view::npos) {
      path.pop_back();
    }
    if (path.empty()) continue;
    const size_t slash = path.find('/');
    const bool from_root = slash != path.npos && folders_.contains(path.substr(0, slash));
    const bool has_ending = std::ranges::any_of(kSourceEndings, [&](const char* ending) {
      return path.ends_with(ending) && path.size() > std::string_view(ending).size();
    });
    const bool names_folder = folder && path.find('.') == path.npos;
    const bool is_end = in_code && (has_ending || names_folder) && !path.starts_with("build") &&
                        !path.starts_with('/');
    const bool exists = from_root ? has_path(path) : !is_end || has_end_of_path(path);
    if (!exists) return "there is no " + path;
  }
  return "";
}

std::string TreeNames::why_no_link(const std::string& page, std::string target) const {
  target = target.substr(0, target.find('#'));
  if (target.empty() || target.find(':') != target.npos) return "";
  fs::path path = (fs::path(page).parent_path() / target).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return has_path(path.string()) ? "" : "links to " + path.string() + ", which does not exist";
}

std::string TreeNames::why_no_member(const std::string& type, const std::string& member) {
  if (std::islower(static_cast<unsigned char>(type[0])) != 0) {  // a namespace
    if (!folders_.contains(type)) return "";
    for (const auto& [path, words] : words_) {
      if (path.starts_with(type + "/") && words.contains(member)) return "";
    }
    return type + "/ names no " + member;
  }
  if (declared_in_[type].empty()) return "no file declares a type " + type;
  std::vector<std::string> types = {type};  // and its bases, each once
  for (size_t i = 0; i < types.size(); ++i) {
    for (const std::string& path : declared_in_[types[i]]) {
      if (words_[path].contains(member)) return "";
    }
    for (const std::string& base : bases_[types[i]]) {
      if (std::ranges::find(types, base) == types.end()) types.push_back(base);
    }
  }
  return *declared_in_[type].begin() + " declares " + type + ", but no member " + member;
}

std::string TreeNames::why_no_test(const std::string& suite, const std::string& test) {
  for (const auto& [path, words] : words_) {
    if (path.starts_with("tests/") && words.contains(suite) && words.contains(test)) return "";
  }
  return "there is no test " + suite + "." + test;
}

std::string TreeNames::why_no_flag(const std::string& page_text, const std::string& flag) const {
  if (flags_.contains(flag) || std::ranges::find(kOthersFlags, flag) != kOthersFlags.end() ||
      page_text.find("(" + flag + ",") != page_text.npos) {
    return "";
  }
  return "there is no flag --" + flag;
}

std::vector<Finding> TreeNames::check(const std::string& page, const std::string& text) {
  std::vector<Finding> findings;
  size_t line = 1;
  bool in_code = false;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) findings.push_back({page, line, what});
  };
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') {
      ++line;
      in_code = false;
    } else if (text[at] == '`') {
      in_code = !in_code;
    } else if (text.compare(at, 2, "](") == 0) {
      const size_t end = std::min(text.find(')', at), text.size());
      add(why_no_link(page, text.substr(at + 2, end - at - 2)));
      at = end;
    } else if (text.compare(at, 2, "--") == 0 && text[at - (at > 0)] != '-') {
      const std::string flag = flag_at(text, at);
      const bool placeholder = text[std::min(at + 2 + flag.size(), text.size() - 1)] == '*';
      if (!flag.empty() && is_word(flag[0]) && !placeholder) add(why_no_flag(text, flag));
      at += 1 + flag.size();
    } else if (is_path(text[at])) {
      size_t end = at;
      while (end < text.size() && is_path(text[end])) ++end;
      const std::string word = text.substr(at, end - at);
      const bool written = at > 1 && text.compare(at - 2, 2, "> ") == 0;
      if (!written) add(why_no_path(word, in_code));
      const size_t dot = word.find('.');
      if (in_code && text.compare(end, 2, "::") == 0 && word_at(word, 0) == word) {
        add(why_no_member(word, word_at(text, end + 2)));
      } else if (in_code && dot != word.npos && dot + 1 < word.size() &&
                 std::isupper(static_cast<unsigned char>(word[0])) != 0 &&
                 std::isupper(static_cast<unsigned char>(word[dot + 1])) != 0 &&
                 word_at(word, dot + 1).size() + dot + 1 == word.size()) {
        add(why_no_test(word.substr(0, dot), word.substr(dot + 1)));
      }
      at = end - 1;
    }
  }
  return findings;
}

}  // namespace logjam::lint
