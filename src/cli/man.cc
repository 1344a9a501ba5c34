// syndrome man and syndrome completion: what --help says, as manual pages and for shells. All of it
// is read off the commands themselves, so that there is one source.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/registry.h"
#include "cli/command.h"
#include "cli/io.h"
#include "cli/render.h"

namespace syndrome::cli {
namespace {

std::vector<const CLI::App*> commands_in(const CLI::App& app) {
  std::vector<const CLI::App*> result;
  for (const CLI::App* sub : app.get_subcommands({})) result.push_back(sub);
  return result;
}

/// On one line: main.cc has broken it for the terminal.
std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

struct Named {
  std::vector<std::string> names;  // "-o", "--output"
  std::string value;               // "FILE"; empty for a flag
  std::string description;
  std::string standard;  // the default
};

std::vector<Named> options_of(const CLI::App& app) {
  std::vector<Named> result;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) continue;
    Named& one = result.emplace_back();
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    if (option->get_items_expected_max() > 0) one.value = option->get_type_name();
    one.description = description_of(*option);
    one.standard = option->get_default_str();
  }
  return result;
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  std::vector<const CLI::Option*> result;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) result.push_back(option);
  }
  return result;
}

/// Text of a manual page: no character of it is an instruction.
std::string roff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_begins = c == '\n';
  }
  return result;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string page_of(const CLI::App& app) {
  const std::string page = full_name(app, "-");
  std::string out = fmt::format(".TH {} 1 \"\" \"syndrome {}\" \"Syndrome\"\n", roff(upper(page)),
                                SYNDROME_VERSION);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page), roff(app.get_description()));
  out += fmt::format(".SH SYNOPSIS\n.B {}\n", roff(full_name(app)));
  const std::vector<const CLI::App*> subs = commands_in(app);
  out += subs.empty() ? "[OPTIONS]" : "COMMAND";
  for (const CLI::Option* option : positionals_of(app)) {
    const std::string name = option->get_name(true);
    out += fmt::format(" {}{}", roff(name), option->get_items_expected_max() > 1 ? " \\&..." : "");
  }
  out += "\n";
  if (!subs.empty()) {
    out += ".SH COMMANDS\n";
    for (const CLI::App* sub : subs) {
      out += fmt::format(".TP\n.B {}\n{}\n", roff(sub->get_name()), roff(sub->get_description()));
    }
  }
  if (!positionals_of(app).empty()) {
    out += ".SH ARGUMENTS\n";
    for (const CLI::Option* option : positionals_of(app)) {
      out += fmt::format(".TP\n.I {}\n{}\n", roff(option->get_name(true)),
                         roff(description_of(*option)));
    }
  }
  out += ".SH OPTIONS\n";
  for (const Named& option : options_of(app)) {
    out += ".TP\n";
    for (std::size_t i = 0; i < option.names.size(); ++i) {
      out += fmt::format("{}\\fB{}\\fR", i == 0 ? "" : ", ", roff(option.names[i]));
    }
    if (!option.value.empty()) out += fmt::format(" \\fI{}\\fR", roff(option.value));
    out += fmt::format("\n{}", roff(option.description));
    if (!option.standard.empty()) out += fmt::format(" (default: {})", roff(option.standard));
    out += "\n";
  }
  if (!app.get_footer().empty()) {
    out += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(app.get_footer()));
  }
  out += ".SH SEE ALSO\n";
  std::vector<std::string> others;
  if (app.get_parent() != nullptr) others.push_back(full_name(*app.get_parent(), "-"));
  for (const CLI::App* sub : subs) others.push_back(full_name(*sub, "-"));
  for (std::string& other : others) other = fmt::format("\\fB{}\\fR(1)", roff(other));
  return out + fmt::format("{}\n", fmt::join(others, ", "));
}

/// The command and those in it.
void collect(const CLI::App& app, std::vector<const CLI::App*>& all) {
  all.push_back(&app);
  for (const CLI::App* sub : commands_in(app)) collect(*sub, all);
}

/// What an option can be, where that is a short list.
std::string values_of(const Named& option) {
  static const std::map<std::string, std::string, std::less<>> kValues = [] {
    std::string checks = "all";
    std::string engines;
    for (const check::Registration& entry : check::registry()) {
      if (!entry.asked_for_by_name_only) checks += fmt::format(" {}", entry.name);
      for (const std::string_view engine : entry.engines) {
        engines += fmt::format("{}{}", engines.empty() ? "" : " ", engine);
      }
    }
    return std::map<std::string, std::string, std::less<>>{{"--format", format_names(" ")},
                                                           {"--color", "auto always never"},
                                                           {"--check", checks},
                                                           {"--engine", engines},
                                                           {"--atomic-sets", "class each all"},
                                                           {"--to", "syn std perfetto dot"}};
  }();
  if (option.value.empty()) return {};
  for (const std::string& name : option.names) {
    const auto found = kValues.find(name);
    if (found != kValues.end() && option.value != "N") return found->second;
  }
  return {};
}

bool takes_file(const Named& option) {
  return option.value == "FILE" || option.value == "FINDINGS" || option.value == "DIR";
}

std::string bash_completion(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  collect(app, all);
  std::string paths;
  std::string words;
  std::map<std::string, std::string> values;
  std::vector<std::string> files;
  std::vector<std::string> others;
  for (const CLI::App* each : all) {
    const std::string path = full_name(*each).substr(app.get_name().size());
    if (!path.empty()) paths += fmt::format("{}\"{}\"", paths.empty() ? "" : "|", path);
    std::string list;
    for (const CLI::App* sub : commands_in(*each)) list += sub->get_name() + " ";
    for (const Named& option : options_of(*each)) {
      for (const std::string& name : option.names) {
        list += name + " ";
        if (option.value.empty()) continue;
        if (const std::string known = values_of(option); !known.empty()) {
          values[name] = known;
        } else {
          (takes_file(option) ? files : others).push_back(name);
        }
      }
    }
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, list);
  }
  for (std::vector<std::string>* list : {&files, &others}) {
    std::ranges::sort(*list);
    list->erase(std::ranges::unique(*list).begin(), list->end());
    std::erase_if(*list, [&](const std::string& name) { return values.contains(name); });
  }
  std::erase_if(others, [&](const std::string& name) {
    return std::ranges::find(files, name) != files.end();
  });
  std::string known;
  for (const auto& [name, list] : values) {
    known += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n", name,
                         list);
  }
  return fmt::format(
      "# bash completion of syndrome, from its --help\n"
      "_syndrome() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local path=\"\" words=\"\" i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${{COMP_WORDS[i]}}\" in\n"
      "      --) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    esac\n"
      "    case \"$path ${{COMP_WORDS[i]}}\" in\n"
      "      {}) path=\"$path ${{COMP_WORDS[i]}}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$before\" in\n{}"
      "    {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    {}) return ;;\n"
      "  esac\n"
      "  case \"$path\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ $word == -* || -z $path ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -o filenames -F _syndrome syndrome\n",
      paths, known, fmt::join(files, "|"), fmt::join(others, "|"), words);
}

/// Between single quotes; brackets and colons mean something to zsh.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_completion(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  collect(app, all);
  std::string out = "#compdef syndrome\n# zsh completion of syndrome, from its --help\n";
  for (const CLI::App* each : all) {
    const std::vector<const CLI::App*> subs = commands_in(*each);
    std::string lines;
    for (const Named& option : options_of(*each)) {
      for (const std::string& name : option.names) {
        lines += fmt::format(" \\\n    '{}[{}]", name, zsh_text(option.description));
        const std::string known = values_of(option);
        if (!known.empty()) {
          lines += fmt::format(":{}:({})", option.value, known);
        } else if (!option.value.empty()) {
          lines += fmt::format(":{}:{}", option.value, takes_file(option) ? "_files" : " ");
        }
        lines += "'";
      }
    }
    out += fmt::format("\n_{}() {{\n", full_name(*each, "_"));
    if (subs.empty()) {
      out += fmt::format("  _arguments{} \\\n    '*:file:_files'\n}}\n", lines);
      continue;
    }
    std::string names;
    std::string calls;
    for (const CLI::App* sub : subs) {
      names += fmt::format(" '{}:{}'", zsh_text(sub->get_name()), zsh_text(sub->get_description()));
      calls += fmt::format("      {}) _{} ;;\n", sub->get_name(), full_name(*sub, "_"));
    }
    out += fmt::format(
        "  local line state\n  local -a commands=({})\n"
        "  _arguments -C{} \\\n    '1:command:->command' '*::argument:->argument'\n"
        "  case $state in\n    command) _describe command commands ;;\n"
        "    argument) case $line[1] in\n{}      *) _files ;;\n    esac ;;\n  esac\n}}\n",
        names, lines, calls);
  }
  return out + "\n_syndrome \"$@\"\n";
}

std::string fish_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string fish_completion(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  collect(app, all);
  std::string out = "# fish completion of syndrome, from its --help\n";
  for (const CLI::App* each : all) {
    const bool root = each->get_parent() == nullptr;
    std::string when =
        root ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + each->get_name();
    if (!root && each->get_parent()->get_parent() != nullptr) {
      when = fmt::format("__fish_seen_subcommand_from {}; and {}", each->get_parent()->get_name(),
                         when);
    }
    for (const CLI::App* sub : commands_in(*each)) {
      out += fmt::format("complete -c syndrome -n '{}' -f -a '{}' -d '{}'\n", when, sub->get_name(),
                         fish_text(sub->get_description()));
    }
    for (const Named& option : options_of(*each)) {
      out += fmt::format("complete -c syndrome -n '{}'", when);
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (const std::string known = values_of(option); !known.empty()) {
        out += fmt::format(" -x -a '{}'", known);
      } else if (!option.value.empty()) {
        out += takes_file(option) ? " -r" : " -x";
      }
      out += fmt::format(" -d '{}'\n", fish_text(option.description));
    }
  }
  return out;
}

struct ManCall {
  std::vector<std::string> command;
  std::string folder;
};

int print(const std::string& text) {
  const Status status = write_stdout(text);
  if (!status) complain(status.error().message);
  return status ? kClean : kWrong;
}

int man(const CLI::App& app, const ManCall& call) {
  if (!call.folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(call.folder, error);
    std::vector<const CLI::App*> all;
    collect(app, all);
    for (const CLI::App* each : all) {
      const std::string path = fmt::format("{}/{}.1", call.folder, full_name(*each, "-"));
      if (const Status status = write_file(path, page_of(*each)); !status) {
        complain(status.error().message);
        return kWrong;
      }
    }
    return kClean;
  }
  const CLI::App* at = &app;
  for (const std::string& word : call.command) {
    const std::vector<const CLI::App*> subs = commands_in(*at);
    const auto found =
        std::ranges::find(subs, word, [](const CLI::App* sub) { return sub->get_name(); });
    if (found == subs.end()) {
      complain(fmt::format("man: there is no command '{} {}'", full_name(*at), word));
      return kWrong;
    }
    at = *found;
  }
  return print(page_of(*at));
}

}  // namespace

std::string full_name(const CLI::App& app, std::string_view between) {
  if (app.get_parent() == nullptr) return app.get_name();
  return fmt::format("{}{}{}", full_name(*app.get_parent(), between), between, app.get_name());
}

void add_man(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<ManCall>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of a command");
  command->add_option("COMMAND", call->command, "A command, such as: check, trace info")
      ->type_name("");
  command->add_option("--all", call->folder, "Write the pages of all commands into DIR instead")
      ->type_name("DIR");
  command->footer(
      "Example:\n"
      "  syndrome man check | man -l -");
  command->callback([call, &app, &exit_code] { exit_code = man(app, *call); });

  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "Print what makes a shell complete our commands");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion->footer(
      "Example:\n"
      "  source <(syndrome completion bash)");
  completion->callback([shell, &app, &exit_code] {
    exit_code = print(*shell == "bash"  ? bash_completion(app)
                      : *shell == "zsh" ? zsh_completion(app)
                                        : fish_completion(app));
  });
}

}  // namespace syndrome::cli
