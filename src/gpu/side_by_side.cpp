#include "gpu/side_by_side.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

namespace gpu {

static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

static bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// WGSL as words (names, keywords, numbers), single characters, and what separates them: the parts add up to the text.
static std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto run = [&](auto belongs) {
            return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), belongs) - text.begin());
        };
        size_t n = 1;
        if (text.substr(0, 2) == "//") {
            n = std::min(text.find('\n'), text.size());
        } else if (is_word(text[0])) {
            n = run(is_word);
        } else if (is_space(text[0])) {
            n = run(is_space);
        }
        parts.push_back(text.substr(0, n));
        text.remove_prefix(n);
    }
    return parts;
}

static bool separates(std::string_view part) {
    return is_space(part[0]) || part.substr(0, 2) == "//";
}

static std::vector<std::string_view> without_separators(const std::vector<std::string_view> & parts) {
    std::vector<std::string_view> kept;
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(kept), [](std::string_view p) { return !separates(p); });
    return kept;
}

// Names of the module's functions, variables, constants and types.
static std::set<std::string_view> declared(const std::vector<std::string_view> & parts) {
    static const std::set<std::string_view> keywords = { "fn", "var", "const", "struct", "alias" };
    const auto                              words    = without_separators(parts);
    std::set<std::string_view>              names;
    int                                     depth = 0;
    for (size_t i = 0; i < words.size(); i++) {
        depth += words[i] == "{" || words[i] == "(";
        depth -= words[i] == "}" || words[i] == ")";
        if (depth != 0 || keywords.count(words[i]) == 0) {
            continue;
        }
        size_t name = i + 1;
        if (words[name] == "<") {  // var<workgroup>
            name = static_cast<size_t>(std::find(words.begin() + name, words.end(), ">") - words.begin()) + 1;
        }
        names.insert(words[name]);
    }
    return names;
}

namespace {

// The entry point's arguments: @builtin(workgroup_id) wid: vec3<u32>, ...
struct argument {
    std::string builtin, type;
};

struct job {
    std::string           text;  // names prefixed, the entry point an ordinary function
    std::vector<argument> arguments;
    std::string           workgroup_size;
};

}  // namespace

// What stands between `open` and its closing partner from word `at` on; `at` moves behind.
static std::string between(const std::vector<std::string_view> & words, size_t & at, std::string_view open, std::string_view close) {
    std::string inside;
    int         depth = 0;
    do {
        depth += words[at] == open;
        depth -= words[at] == close;
        if (depth > 0 && !(depth == 1 && words[at] == open)) {
            inside += words[at];
        }
    } while (depth > 0 && ++at < words.size());
    at++;
    return inside;
}

static void read_entry_point(const std::vector<std::string_view> & parts, job & j) {
    const auto words = without_separators(parts);
    size_t     at    = static_cast<size_t>(std::find(words.begin(), words.end(), "workgroup_size") - words.begin()) + 1;
    j.workgroup_size = between(words, at, "(", ")");
    while (words[at] != "(") {
        at++;  // fn main
    }
    at++;
    while (words[at] != ")") {
        argument a;
        at += 2;  // @builtin
        a.builtin = between(words, at, "(", ")");
        at += 2;  // name:
        while (words[at] != "," && words[at] != ")") {
            a.type += words[at++];
        }
        at += words[at] == ",";
        j.arguments.push_back(std::move(a));
    }
}

static job prepare(const std::string & text, const std::string & prefix) {
    const auto parts = parts_of(text);
    const auto names = declared(parts);
    job        j;
    read_entry_point(parts, j);
    bool             in_struct = false, after_struct = false;
    std::string_view before;  // the last part that is not a separator
    for (size_t i = 0; i < parts.size(); i++) {
        const std::string_view part = parts[i];
        if (separates(part)) {
            j.text += part;
            continue;
        }
        if (part == "@" && (parts[i + 1] == "compute" || parts[i + 1] == "workgroup_size" || parts[i + 1] == "builtin")) {
            i++;
            if (parts[i] != "compute") {
                while (parts[i] != ")") {
                    i++;
                }
            }
            continue;
        }
        after_struct = after_struct || part == "struct";
        in_struct    = (in_struct || (after_struct && part == "{")) && part != "}";
        after_struct = after_struct && part != "{";
        const bool field = before == "." || (in_struct && i + 1 < parts.size() && parts[i + 1] == ":");
        if (part == "params" && !field) {
            j.text += "params." + prefix.substr(0, prefix.size() - 1);
        } else {
            j.text += (names.count(part) != 0 && !field ? prefix : std::string()) + std::string(part);
        }
        before = part;
    }
    return j;
}

std::string job_prefix(size_t i) {
    return "job" + std::to_string(i) + "_";
}

std::string side_by_side(const std::vector<std::string> & kernels) {
    std::string           text, members, calls;
    std::vector<argument> arguments = { { "workgroup_id", "vec3<u32>" }, { "num_workgroups", "vec3<u32>" } };
    std::string           workgroup_size;
    for (size_t i = 0; i < kernels.size(); i++) {
        const std::string prefix = job_prefix(i), member = prefix.substr(0, prefix.size() - 1);
        const job         j = prepare(kernels[i], prefix);
        workgroup_size      = j.workgroup_size;
        text += j.text;
        members += "    @align(16) " + member + ": " + prefix + "Params,\n";
        calls += "    if (group < params." + member + ".groups) {\n        " + prefix + "main(";
        for (const argument & a : j.arguments) {
            const bool known = std::any_of(arguments.begin(), arguments.end(), [&](const argument & b) { return a.builtin == b.builtin; });
            if (!known) {
                arguments.push_back(a);
            }
            calls += (a.builtin == "workgroup_id" ? "vec3<u32>(group, 0u, 0u)" : a.builtin == "num_workgroups" ? "vec3<u32>(1u)" : a.builtin) + ", ";
        }
        calls += ");\n        return;\n    }\n    group -= params." + member + ".groups;\n";
    }
    std::string list;
    for (const argument & a : arguments) {
        list += "@builtin(" + a.builtin + ") " + a.builtin + ": " + a.type + ", ";
    }
    return text + "\nstruct Params {\n" + members + "}\n@group(0) @binding(0) var<uniform> params: Params;\n\n@compute @workgroup_size(" + workgroup_size +
           ")\nfn main(" + list + ") {\n    var group = workgroup_id.y * num_workgroups.x + workgroup_id.x;\n" + calls + "}\n";
}

}  // namespace gpu
