/* What the tests of Holdfast for C++ share: every test is a sentence, and leaves no handle behind. */
#ifndef HOLDFAST_CHECKS_HPP
#define HOLDFAST_CHECKS_HPP

#include <holdfast.hpp>

#include <cstdio>

inline int failures = 0;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::fprintf(stderr, "%s:%d: error: not so: %s\n", __FILE__, __LINE__, #condition);              \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

template <typename Function>
hf_status status_of(Function &&function) {
    auto result = holdfast::attempt([&] { (void)function(); });
    auto *error = std::get_if<holdfast::Error>(&result);
    return error != nullptr ? error->status() : HF_OK;
}

inline void test(const char *sentence, const std::function<void()> &body) {
    int before = failures;
    try {
        body();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: error: threw %s\n", sentence, error.what());
        failures++;
    }
    if (hf_handle_count(nullptr) != 0) {
        std::fprintf(stderr, "%s: error: %zu handles are left\n", sentence, hf_handle_count(nullptr));
        failures++;
    }
    std::printf("%s  %s\n", failures == before ? "ok  " : "FAIL", sentence);
}

inline holdfast::Store memory(const char *options = "") { return holdfast::Store::open("memory:", options); }

struct Song {
    std::string id;
    int plays = 0;
};
inline std::string to_entity(const Song &song) {
    return "{\"id\": " + holdfast::quote(song.id) + ", \"plays\": " + std::to_string(song.plays) + "}";
}
inline void from_entity(std::string_view json, Song &song) {
    std::string text(json);
    auto id = text.find("\"id\":"), plays = text.find("\"plays\":");
    auto quote = text.find('"', id + 5);
    song.id = text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
    song.plays = std::stoi(text.substr(plays + 8));
}

// Tells when it was copied and destroyed, as what a lambda captures.
struct Witness {
    std::shared_ptr<int> life = std::make_shared<int>(0);
};

#endif
