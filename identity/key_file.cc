#include "identity/key_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/file.h"
#include "common/subprocess.h"

namespace assay::identity {
namespace {

// A key of RSA 4096 has 3.3 kB in PEM.
constexpr size_t kMaxKeyBytes = 64 << 10;

Status CannotFile(const std::string& what, const std::string& path) {
  return FailedPrecondition("cannot " + what + " " + path + ": " + std::strerror(errno),
                            Reason::kBadFile);
}

std::string FolderOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// A file under a temporary name in the same folder. The destructor removes the name.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path) : name_(path + ".XXXXXX") {
    file_ = FileDescriptor(::mkostemp(name_.data(), O_CLOEXEC));
  }
  ~UnfinishedFile() {
    if (file_.valid()) ::unlink(name_.c_str());
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  Status Write(const std::string& content) const {
    if (!file_.valid()) return CannotFile("make", name_);
    for (size_t done = 0; done < content.size();) {
      const ssize_t wrote = ::write(file_.get(), content.data() + done, content.size() - done);
      if (wrote < 0 && errno != EINTR) return CannotFile("write", name_);
      if (wrote > 0) done += static_cast<size_t>(wrote);
    }
    if (::fsync(file_.get()) != 0) return CannotFile("write", name_);
    return Status::Ok();
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  FileDescriptor file_;
};

}  // namespace

Status ReplacePrivateFile(const std::string& path, const std::string& content) {
  const UnfinishedFile unfinished(path);
  ASSAY_RETURN_IF_ERROR(unfinished.Write(content));
  if (::rename(unfinished.name().c_str(), path.c_str()) != 0) return CannotFile("write", path);
  return SyncFolder(FolderOf(path));
}

Result<std::string> MakePrivateFile(const std::string& path, const std::string& content) {
  {
    const UnfinishedFile unfinished(path);
    ASSAY_RETURN_IF_ERROR(unfinished.Write(content));
    if (::link(unfinished.name().c_str(), path.c_str()) != 0 && errno != EEXIST) {
      return CannotFile("make", path);
    }
  }
  ASSAY_RETURN_IF_ERROR(SyncFolder(FolderOf(path)));
  return ReadFile(path, kMaxKeyBytes);
}

Result<std::string> ReadKeyFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return CannotFile("read", path);
  if (!S_ISREG(facts.st_mode)) {
    return FailedPrecondition("the key " + path + " is not a file", Reason::kBadFile);
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return FailedPrecondition("the key " + path + " belongs to another user", Reason::kBadFile)
        .WithHint("make it this user's own: chown");
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return FailedPrecondition("other users can read the private key " + path, Reason::kBadFile)
        .WithHint("chmod 600 " + path);
  }
  return ReadFile(path, kMaxKeyBytes);
}

Result<Key> LoadOrMakeKey(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 && errno == ENOENT) {
    ASSAY_ASSIGN_OR_RETURN(const Key key, NewKey());
    ASSAY_ASSIGN_OR_RETURN(const std::string pem, KeyPem(key.get()));
    ASSAY_RETURN_IF_ERROR(MakePrivateFile(path, pem).status());
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string pem, ReadKeyFile(path));
  Result<Key> key = ParseKey(pem);
  if (!key.ok()) return key.status().WithContext(path);
  return key;
}

}  // namespace assay::identity
