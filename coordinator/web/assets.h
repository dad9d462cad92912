// The files of the console, which the build makes from console/ and embeds.
#pragma once

#include <span>
#include <string_view>

namespace assay::coordinator::web {

struct Asset {
  std::string_view path;  // "/" or "/assets/console-1A2B3C.js".
  std::string_view content_type;
  std::string_view etag;  // In quotes.
  bool immutable;         // The path contains a digest of the content.
  std::string_view gzip;  // The content, compressed.
};

// Returns all files. If npm was missing at build time, there is only "/", a page that says so.
std::span<const Asset> Assets();

// Returns the sources of styles that the content security policy must allow besides 'self'.
std::string_view StyleSources();

}  // namespace assay::coordinator::web
