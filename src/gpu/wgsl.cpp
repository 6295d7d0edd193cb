#include "gpu/wgsl.h"

#include "gpu/shader_source.h"

#include <cctype>
#include <set>
#include <vector>

namespace gpu {

static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

static std::string_view trim(std::string_view s) {
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
    while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
    return s;
}

// Integer expressions of #if, by precedence climbing.
class condition {
public:
    condition(std::string text, const defines & defs) : text_(std::move(text)), rest_(text_), defs_(defs) {}

    bool value(long & out) {
        out = binary(0);
        skip();
        return ok_ && rest_.empty();
    }

private:
    struct op { std::string_view text; int level; };
    static constexpr op ops[] = { { "||", 1 }, { "&&", 2 }, { "==", 3 }, { "!=", 3 }, { "<<", 5 }, { ">>", 5 }, { "<=", 4 }, { ">=", 4 },
                                  { "<", 4 },  { ">", 4 },  { "+", 6 },  { "-", 6 },  { "*", 7 },  { "/", 7 } };

    void skip() { rest_ = trim(rest_); }

    bool take(std::string_view token) {
        skip();
        if (rest_.substr(0, token.size()) != token) return false;
        rest_.remove_prefix(token.size());
        return true;
    }

    std::string_view word() {
        skip();
        size_t n = 0;
        while (n < rest_.size() && is_word(rest_[n])) n++;
        const std::string_view w = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return w;
    }

    long unary() {
        if (take("!")) return !unary();
        if (take("-")) return -unary();
        if (take("(")) {
            const long v = binary(0);
            ok_ = take(")") && ok_;
            return v;
        }
        const std::string_view w = word();
        if (w == "defined") {
            ok_ = take("(") && ok_;
            const bool known = defs_.find(word()) != defs_.end();
            ok_ = take(")") && ok_;
            return known;
        }
        return number(w);
    }

    long number(std::string_view w) {
        if (w.empty()) { ok_ = false; return 0; }
        for (int depth = 0; !std::isdigit(static_cast<unsigned char>(w[0])); depth++) {
            const auto found = defs_.find(w);
            if (found == defs_.end() || found->second.empty() || depth > 16) return 0;
            w = found->second;
        }
        return std::stol(std::string(w));
    }

    long binary(int level) {
        long left = unary();
        for (;;) {
            skip();
            const op * found = nullptr;
            for (const op & o : ops) {
                if (rest_.substr(0, o.text.size()) == o.text && o.level > level) { found = &o; break; }
            }
            if (found == nullptr) return left;
            take(found->text);
            const long right = binary(found->level);
            const std::string_view t = found->text;
            left = t == "||" ? (left || right) : t == "&&" ? (left && right) : t == "==" ? left == right : t == "!=" ? left != right
                 : t == "<<" ? left << right : t == ">>" ? left >> right
                 : t == "<=" ? left <= right : t == ">=" ? left >= right : t == "<" ? left < right : t == ">" ? left > right
                 : t == "+" ? left + right : t == "-" ? left - right : t == "*" ? left * right : right != 0 ? left / right : 0;
        }
    }

    std::string      text_;
    std::string_view rest_;
    const defines &  defs_;
    bool             ok_ = true;
};

class expander {
public:
    explicit expander(const defines & given) : defs_(given) {}

    bool file(std::string_view path, std::string_view as) {
        for (const embedded_shader & shader : embedded_shaders) {
            if (shader.path == path) return text(path, shader.text, as);
        }
        return fail(path, 0, "there is no such shader file");
    }

    bool text(std::string_view name, std::string_view body, std::string_view as) {
        if (!done_.insert(std::string(name) + " as " + std::string(as)).second) return true;
        size_t number = 0;
        return lines(name, number, body, as);
    }

    // `number` counts the lines of the file.
    bool lines(std::string_view name, size_t & number, std::string_view body, std::string_view as) {
        struct branch { bool active, taken, outer; };
        std::vector<branch> stack;
        bool active = true;
        while (!body.empty()) {
            const std::string_view line = next_line(body, number);
            const std::string_view code = trim(line);
            if (code.empty() || code[0] != '#') {
                if (active) { substitute(line, as); out += '\n'; }
                continue;
            }
            const std::string_view directive = directive_of(code);
            const std::string      argument  = renamed(trim(code.substr(1 + directive.size())), as);
            if (directive == "if") {
                long v = 0;
                if (active && !condition(argument, defs_).value(v)) return fail(name, number, "cannot read the condition");
                stack.push_back({ active && v != 0, v != 0, active });
                active = stack.back().active;
            } else if (directive == "elif" || directive == "else" || directive == "endif") {
                if (stack.empty()) return fail(name, number, "no #if is open");
                branch & b = stack.back();
                if (directive == "endif") { active = b.outer; stack.pop_back(); continue; }
                long v = 1;
                if (directive == "elif" && b.outer && !b.taken && !condition(argument, defs_).value(v)) {
                    return fail(name, number, "cannot read the condition");
                }
                active  = b.outer && !b.taken && v != 0;
                b.taken = b.taken || active;
            } else if (directive == "repeat") {
                if (!repeat(name, number, body, argument, as, active)) return false;
            } else if (!active) {
                continue;
            } else if (directive == "define") {
                size_t m = 0;
                while (m < argument.size() && is_word(argument[m])) m++;
                defs_[argument.substr(0, m)] = std::string(trim(std::string_view(argument).substr(m)));
            } else if (directive == "include") {
                if (!include(name, number, argument)) return false;
            } else {
                return fail(name, number, directive == "error" ? argument : "unknown directive");
            }
        }
        return stack.empty() || fail(name, 0, "an #if is not closed");
    }

    static std::string_view next_line(std::string_view & body, size_t & number) {
        const size_t           end  = std::min(body.find('\n'), body.size());
        const std::string_view line = body.substr(0, end);
        body.remove_prefix(std::min(end + 1, body.size()));
        number++;
        return line;
    }

    static std::string_view directive_of(std::string_view code) {
        size_t n = 1;
        while (n < code.size() && std::isalpha(static_cast<unsigned char>(code[n]))) n++;
        return code.substr(1, n - 1);
    }

    // #repeat i COUNT ... #end: the lines between, COUNT times, with $i standing for 0, 1, ...
    bool repeat(std::string_view name, size_t & number, std::string_view & body, const std::string & argument, std::string_view as, bool active) {
        const std::string_view start = body;
        const size_t           first = number;
        for (int depth = 1; depth > 0;) {
            if (body.empty()) return fail(name, first, "a #repeat is not closed");
            const std::string_view code = trim(next_line(body, number));
            const std::string_view d    = code.empty() || code[0] != '#' ? std::string_view() : directive_of(code);
            depth += d == "repeat" ? 1 : d == "end" ? -1 : 0;
        }
        if (!active) return true;
        const std::string block(start.substr(0, start.substr(0, start.size() - body.size()).rfind("#end")));
        const size_t      space = argument.find(' ');
        long              count = 0;
        if (space == std::string::npos || !condition(argument.substr(space), defs_).value(count)) return fail(name, first, "#repeat name count");
        const std::string index = "$" + argument.substr(0, space);
        for (long i = 0; i < count; i++) {
            std::string copy = block;
            for (size_t at = 0; (at = copy.find(index, at)) != std::string::npos;) copy.replace(at, index.size(), std::to_string(i));
            size_t line = first;
            if (!lines(name, line, copy, as)) return false;
        }
        return true;
    }

    std::string out, error;

private:
    bool fail(std::string_view name, size_t line, std::string_view what) {
        error = "shader " + std::string(name) + ":" + std::to_string(line) + ": " + std::string(what);
        return false;
    }

    // #include "path with {DEFINE}" as name
    bool include(std::string_view name, size_t number, std::string_view argument) {
        const size_t close = argument.find('"', 1);
        if (argument.empty() || argument[0] != '"' || close == std::string_view::npos) return fail(name, number, "#include \"path\" as name");
        std::string path(argument.substr(1, close - 1));
        for (size_t open; (open = path.find('{')) != std::string::npos;) {
            const size_t      shut  = path.find('}', open);
            const std::string key   = path.substr(open + 1, shut - open - 1);
            const auto        found = defs_.find(key);
            if (shut == std::string::npos || found == defs_.end()) return fail(name, number, "no define " + key);
            path.replace(open, shut - open + 1, found->second);
        }
        std::string_view as = trim(argument.substr(close + 1));
        if (as.substr(0, 3) == "as ") as = trim(as.substr(3));
        const std::string instance(as);
        return file(path, instance);
    }

    // `self` and `self_x` become `as` and `as_x`.
    static std::string renamed(std::string_view text, std::string_view as) {
        std::string result;
        for (size_t i = 0; i < text.size();) {
            if (!is_word(text[i])) { result += text[i++]; continue; }
            size_t n = i;
            while (n < text.size() && is_word(text[n])) n++;
            const std::string_view word = text.substr(i, n - i);
            const bool self = !as.empty() && (word == "self" || word.substr(0, 5) == "self_");
            result += self ? std::string(as) + std::string(word.substr(4)) : std::string(word);
            i = n;
        }
        return result;
    }

    void substitute(std::string_view line, std::string_view as, int depth = 0) {
        const std::string text = renamed(line.substr(0, line.find("//")), as);
        for (size_t i = 0; i < text.size();) {
            if (!is_word(text[i])) { out += text[i++]; continue; }
            size_t n = i;
            while (n < text.size() && is_word(text[n])) n++;
            const std::string word  = text.substr(i, n - i);
            const auto        found = defs_.find(word);
            if (found != defs_.end() && depth < 16) substitute(found->second, as, depth + 1);
            else out += word;
            i = n;
        }
    }

    defines               defs_;
    std::set<std::string> done_;
};

static result<std::string> finish(bool ok, expander & e) {
    if (!ok) return status::failure(e.error);
    return std::move(e.out);
}

result<std::string> expand_shader(std::string_view path, const defines & given) {
    expander e(given);
    return finish(e.file(path, ""), e);
}

result<std::string> expand_text(std::string_view name, std::string_view text, const defines & given) {
    expander e(given);
    return finish(e.text(name, text, ""), e);
}

// Bytes of a value of the type; 0 for other types than workgroup variables of kernels with matrices are made of.
static int value_bytes(std::string_view type) {
    if (type == "f16") return 2;
    if (type == "f32" || type == "u32" || type == "i32") return 4;
    return type == "vec4<f32>" || type == "vec4<u32>" ? 16 : 0;
}

std::string assert_whole_quads(std::string_view module) {
    static constexpr std::string_view start = "var<workgroup> ", array = "array<";
    std::string                       statements;
    for (size_t at = module.find(start); at != std::string_view::npos; at = module.find(start, at + 1)) {
        const std::string_view declaration = module.substr(at + start.size(), module.find(';', at) - at - start.size());
        std::string_view       type        = trim(declaration.substr(declaration.find(':') + 1));
        std::string            count       = "1";
        if (type.substr(0, array.size()) == array) {
            const size_t comma = type.find(',');
            count              = std::string(trim(type.substr(comma + 1, type.rfind('>') - comma - 1)));
            type               = trim(type.substr(array.size(), comma - array.size()));
        }
        const int bytes = value_bytes(type);
        statements += bytes == 0 ? "const_assert false;" : "const_assert (" + count + ") * " + std::to_string(bytes) + " % 16 == 0;";
        statements += "  // " + std::string(declaration) + "\n";
    }
    return statements;
}

}  // namespace gpu
