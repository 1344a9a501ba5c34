#include "report/html.h"

#include <zlib.h>

#include <cassert>
#include <cstdint>
#include <string_view>

#include "report/json.h"
#include "report/page.h"

namespace syndrome::report {
namespace {

/// What the page has in the place of the reports.
constexpr std::string_view kPlaceholder = "SYNDROME-REPORTS";

std::string deflated(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  const int result =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_DEFAULT_COMPRESSION);
  assert(result == Z_OK);  // there is room for the worst case
  static_cast<void>(result);
  packed.resize(size);
  return packed;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U |
              (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : std::uint32_t{0});
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool filler = i + k > bytes.size();
      text += filler ? '=' : kDigits[group >> (18U - 6U * k) & 63U];
    }
  }
  return text;
}

std::string put_in(std::string_view place, std::string_view text, std::string page) {
  const std::size_t at = page.find(place);
  assert(at != std::string::npos);
  return page.replace(at, place.size(), text);
}

}  // namespace

std::string to_html(std::span<const Report> reports) {
  JsonOptions options;
  options.stats = true;
  options.page = true;
  // Packed, a report of many findings is small, and nothing in it can be taken for a tag.
  const std::string data = base64(deflated(to_json(reports, true, options)));
  return put_in(kPlaceholder, data, std::string(page_template()));
}

std::string served_page() {
  // Such a page may ask its own server, and still nobody else.
  constexpr std::string_view kNothing = "default-src 'none';";
  constexpr std::string_view kServer = "default-src 'none'; connect-src 'self';";
  return put_in(kNothing, kServer, put_in(kPlaceholder, "served", std::string(page_template())));
}

}  // namespace syndrome::report
