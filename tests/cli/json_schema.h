// Checks a document against a JSON schema: the keywords that the schema of SARIF 2.1.0 uses. One
// that is not known here is a failure, so that nothing passes because it was not looked at.

#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace syndrome::test {

class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : schema_(std::move(schema)) {}

  /// What is wrong with the document, each with where.
  [[nodiscard]] std::vector<std::string> errors(const nlohmann::json& document) const {
    std::vector<std::string> found;
    check(schema_, document, "", found);
    return found;
  }

 private:
  using Json = nlohmann::json;
  using Errors = std::vector<std::string>;

  void check(const Json& schema, const Json& value, const std::string& at, Errors& errors) const {
    static const std::set<std::string> kSaysNothing = {"$schema", "title",       "description",
                                                       "default", "definitions", "$id"};
    for (const auto& [keyword, rule] : schema.items()) {
      if (kSaysNothing.contains(keyword)) continue;
      const auto fail = [&, word = keyword](const std::string& what) {
        errors.push_back((at.empty() ? "/" : at) + ": " + word + ": " + what);
      };
      if (keyword == "$ref") {
        const auto name = rule.get<std::string>();  // "#/definitions/…"
        check(schema_.at(Json::json_pointer(name.substr(1))), value, at, errors);
      } else if (keyword == "type") {
        if (!has_type(value, rule.get<std::string>())) fail("this is no " + rule.dump());
      } else if (keyword == "enum") {
        if (std::find(rule.begin(), rule.end(), value) == rule.end()) fail(value.dump());
      } else if (keyword == "properties") {
        for (const auto& [name, sub] : rule.items()) {
          if (value.is_object() && value.contains(name)) {
            check(sub, value[name], at + "/" + name, errors);
          }
        }
      } else if (keyword == "additionalProperties") {
        if (!value.is_object()) continue;
        for (const auto& [name, sub] : value.items()) {
          if (schema.contains("properties") && schema["properties"].contains(name)) continue;
          if (rule == false) fail(name);
          if (rule.is_object()) check(rule, sub, at + "/" + name, errors);
        }
      } else if (keyword == "required") {
        for (const Json& name : rule) {
          if (value.is_object() && !value.contains(name)) fail(name.dump());
        }
      } else if (keyword == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
          check(rule, value[i], at + "/" + std::to_string(i), errors);
        }
      } else if (keyword == "minItems") {
        if (value.is_array() && value.size() < rule.get<std::size_t>()) fail("too few");
      } else if (keyword == "uniqueItems") {
        const bool unique =
            !value.is_array() || std::set<Json>(value.begin(), value.end()).size() == value.size();
        if (rule == true && !unique) fail("two are the same");
      } else if (keyword == "minimum") {
        if (value.is_number() && value < rule) fail(value.dump());
      } else if (keyword == "maximum") {
        if (value.is_number() && value > rule) fail(value.dump());
      } else if (keyword == "pattern") {
        if (value.is_string() &&
            !std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()))) {
          fail(value.dump());
        }
      } else if (keyword == "format") {
        if (value.is_string() && !has_format(value.get<std::string>(), rule)) fail(value.dump());
      } else if (keyword == "anyOf" || keyword == "oneOf") {
        std::size_t passed = 0;
        for (const Json& each : rule) {
          Errors inside;
          check(each, value, at, inside);
          if (inside.empty()) ++passed;
        }
        if (passed == 0 || (keyword == "oneOf" && passed > 1)) fail(std::to_string(passed));
      } else {
        fail("this test does not know the keyword");
      }
    }
  }

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "null" && value.is_null();
  }

  /// RFC 3986, as far as it tells a URI from what is none.
  static bool has_format(const std::string& text, const std::string& format) {
    static const std::regex kUri(
        R"([A-Za-z][A-Za-z0-9+.-]*:([!-$&-;=?-Z_a-z~\[\]]|%[0-9A-Fa-f]{2})*)");
    static const std::regex kReference(R"(([!-$&-;=?-Z_a-z~\[\]]|%[0-9A-Fa-f]{2})*)");
    if (format == "uri") return std::regex_match(text, kUri);
    if (format == "uri-reference") return std::regex_match(text, kReference);
    return true;
  }

  Json schema_;
};

}  // namespace syndrome::test
