#include "cli/contexts/context_file.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "cli/campaign_file/yaml_tree.h"
#include "common/file.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "identity/key_file.h"

namespace assay::cli {
namespace {

constexpr size_t kMaxNameBytes = 100;

using Violations = std::vector<Violation>;

// Stores the text of a scalar, or adds a violation.
void ReadText(const YamlNode& node, const std::string& field, std::string& text,
              Violations& violations) {
  if (node.kind == YamlNode::Kind::kScalar && !node.text.empty() && IsPlainText(node.text)) {
    text = node.text;
  } else {
    violations.push_back({field, "must be a text", node.at.line});
  }
}

FleetContext ReadContext(const YamlNode& node, const std::string& name, Violations& violations) {
  FleetContext context;
  const std::string field = "contexts." + name;
  if (node.kind != YamlNode::Kind::kMap) {
    violations.push_back({field, "must have coordinator, identity or TLS files", node.at.line});
    return context;
  }
  const std::map<std::string, std::string*> texts = {{"coordinator", &context.coordinator},
                                                     {"identity", &context.identity},
                                                     {"tls-ca", &context.tls.authorities},
                                                     {"tls-cert", &context.tls.certificate},
                                                     {"tls-key", &context.tls.key}};
  for (const YamlNode::Entry& entry : node.entries) {
    const auto found = texts.find(entry.key);
    if (found != texts.end()) {
      ReadText(entry.value, field + "." + entry.key, *found->second, violations);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [known, text] : texts) names.push_back(known);
    violations.push_back({field,
                          "has no field " + Quote(entry.key) + "; " + Suggest(entry.key, names),
                          entry.at.line});
  }
  if (context.coordinator.empty() && context.identity.empty() && violations.empty()) {
    violations.push_back({field, "needs a coordinator or an identity", node.at.line});
  }
  if (!context.identity.empty() && !context.tls.empty()) {
    violations.push_back({field, "has both an identity and TLS files; keep one", node.at.line});
  }
  return context;
}

std::array<std::string*, 4> PathsOf(FleetContext& context) {
  return {&context.identity, &context.tls.authorities, &context.tls.certificate, &context.tls.key};
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

Status CheckContextName(const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("._-:@", c) != nullptr);
  };
  if (!name.empty() && name.size() <= kMaxNameBytes &&
      std::isalnum(static_cast<unsigned char>(name[0])) != 0 &&
      std::all_of(name.begin(), name.end(), allowed)) {
    return Status::Ok();
  }
  return InvalidArgument(Quote(name) +
                         " cannot name a context: use 1 to 100 letters, digits and "
                         "\"._-:@\", and begin with a letter or digit");
}

Result<ContextFile> ParseContextFile(std::string_view text, const std::string& path) {
  const YamlFile yaml = ParseYaml(text);
  Violations violations;
  for (const FileFault& fault : yaml.faults) {
    violations.push_back({fault.field, fault.description, fault.at.line});
  }
  ContextFile file;
  if (yaml.root.kind != YamlNode::Kind::kMap && yaml.root.kind != YamlNode::Kind::kNull) {
    violations.push_back({"", "must have \"current\" and \"contexts\"", yaml.root.at.line});
  }
  for (const YamlNode::Entry& entry : yaml.root.entries) {
    const bool contexts = entry.key == "contexts";
    if (entry.key == "current") {
      ReadText(entry.value, "current", file.current, violations);
    } else if (!contexts) {
      violations.push_back({entry.key, "is not one of contexts, current", entry.at.line});
    } else if (entry.value.kind == YamlNode::Kind::kMap) {
      for (const YamlNode::Entry& one : entry.value.entries) {
        if (const Status name = CheckContextName(one.key); !name.ok()) {
          violations.push_back({"contexts", name.message(), one.at.line});
        }
        file.contexts[one.key] = ReadContext(one.value, one.key, violations);
      }
    } else if (entry.value.kind != YamlNode::Kind::kNull) {
      violations.push_back({"contexts", "must have one entry per context", entry.at.line});
    }
  }
  if (violations.empty()) return file;
  for (Violation& one : violations) {
    one.field = "line " + std::to_string(one.line) + (one.field.empty() ? "" : ": " + one.field);
  }
  return InvalidArgument("the file of contexts, " + path + ", has errors", Reason::kBadFile)
      .WithViolations(std::move(violations));
}

std::string ContextFileText(const ContextFile& file) {
  std::string text =
      "# Fleets that the command assay works with. \"assay login\" and \"assay context\" write "
      "this "
      "file\n# without its comments.\n";
  if (!file.current.empty()) text += "current: " + Quoted(file.current) + "\n";
  text += file.contexts.empty() ? "contexts: {}\n" : "contexts:\n";
  for (const auto& [name, context] : file.contexts) {
    text += "  " + Quoted(name) + ":\n";
    const auto add = [&](const char* key, const std::string& value) {
      if (!value.empty()) text += "    " + std::string(key) + ": " + Quoted(value) + "\n";
    };
    add("coordinator", context.coordinator);
    add("identity", context.identity);
    add("tls-ca", context.tls.authorities);
    add("tls-cert", context.tls.certificate);
    add("tls-key", context.tls.key);
  }
  return text;
}

std::string ContextFolder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/') {
    return std::string(config) + "/assay";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    const passwd* entry = ::getpwuid(::geteuid());
    home = entry != nullptr ? entry->pw_dir : nullptr;
  }
  if (home == nullptr || home[0] != '/') return "";
  return std::string(home) + "/.config/assay";
}

Result<ContextFile> LoadContexts(const std::string& folder) {
  const std::string path = folder + "/config";
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(path, error)) return ContextFile();
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxYamlBytes));
  ASSAY_ASSIGN_OR_RETURN(ContextFile file, ParseContextFile(text, path));
  for (auto& [name, context] : file.contexts) {
    for (std::string* path : PathsOf(context)) {
      if (!path->empty() && path->front() != '/') *path = folder + "/" + *path;
    }
  }
  return file;
}

Status ChangeContexts(const std::string& folder,
                      const std::function<Status(ContextFile& file)>& change) {
  if (folder.empty()) {
    return FailedPrecondition("there is no home folder in which contexts can be kept")
        .WithHint("set HOME or XDG_CONFIG_HOME");
  }
  ASSAY_RETURN_IF_ERROR(MakePrivateFolder(folder));
  const std::string lock_path = folder + "/config.lock";
  const FileDescriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return FailedPrecondition("cannot lock " + lock_path + ": " + std::strerror(errno));
  }
  ASSAY_ASSIGN_OR_RETURN(ContextFile file, LoadContexts(folder));
  ASSAY_RETURN_IF_ERROR(change(file));
  const std::string prefix = folder + "/";
  for (auto& [name, context] : file.contexts) {
    for (std::string* path : PathsOf(context)) {
      if (path->starts_with(prefix)) path->erase(0, prefix.size());
    }
  }
  return identity::ReplacePrivateFile(folder + "/config", ContextFileText(file));
}

Result<FleetContext> FindContext(const ContextFile& file, const std::string& name) {
  if (const auto found = file.contexts.find(name); found != file.contexts.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const auto& [known, context] : file.contexts) names.push_back(known);
  return NotFound("there is no context " + Quote(name))
      .WithHint(names.empty() ? "log in to a fleet first: assay login URL --pin PIN TOKEN"
                              : Suggest(name, names));
}

}  // namespace assay::cli
