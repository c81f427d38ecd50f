/*
 * The ISO registers of countries, subdivisions, languages, currencies and scripts, kept in a Holdfast store:
 * a tour of the C++ API on the 13,000 entities of Debian's package iso-codes.
 *
 *   c++ -std=c++17 iso_registers.cpp $(pkg-config --cflags --libs holdfast jansson) -o iso_registers &&
 * ./iso_registers
 *
 * The registers' files are read with jansson; the library itself takes and gives plain bytes.
 */
#include <holdfast.hpp>

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

namespace {

struct Register {
    const char *repository, *file, *name, *key;
};
constexpr Register registers[] = {
    {"countries", "iso_3166-1.json", "3166-1", "alpha_2"},
    {"subdivisions", "iso_3166-2.json", "3166-2", "code"},
    {"languages", "iso_639-3.json", "639-3", "alpha_3"},
    {"currencies", "iso_4217.json", "4217", "alpha_3"},
    {"scripts", "iso_15924.json", "15924", "alpha_4"},
};
constexpr int load = 5000;

void check(bool holds, const char *sentence) {
    if (!holds)
        throw std::runtime_error(std::string("not so: ") + sentence);
}

// A language, as far as this program is interested in it.
struct Language {
    std::string code, name, type;
};

std::string member(json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != nullptr ? text : "";
}

void from_entity(std::string_view json, Language &language) {
    json_t *object = json_loadb(json.data(), json.size(), 0, nullptr);
    language = {member(object, "alpha_3"), member(object, "name"), member(object, "type")};
    json_decref(object);
}

// A register is one transaction, so a reader sees all of it or nothing.
std::size_t import_register(holdfast::Store &store, const Register &r) {
    std::string path = std::string("/usr/share/iso-codes/json/") + r.file;
    json_t *file = json_load_file(path.c_str(), 0, nullptr);
    check(file != nullptr, "the package iso-codes is installed");
    json_t *entries = json_object_get(file, r.name);
    char *text = json_dumps(entries, JSON_COMPACT);
    auto repository = store.repository(r.repository, std::string("{\"key\": \"") + r.key + "\"}");
    store.transact([&](holdfast::Transaction &t) { repository.within(t).add_many(text); });
    std::size_t total = json_array_size(entries);
    check(repository.count() == total, "all entries are stored");
    std::printf("  %-12s %5zu\n", r.repository, total);
    std::free(text);
    json_decref(file);
    return total;
}

void read_and_update(holdfast::Store &store) {
    auto countries = store.repository("countries");
    auto iceland = countries.fetch("IS").value();
    auto changed = countries.patch("IS", R"({"capital":"Reykjavík"})", iceland.version);
    std::printf("  %s\n  %s\n", iceland.json.c_str(), changed.json.c_str());
    // Whoever still thinks of the old version is told so.
    auto refused = holdfast::attempt([&] { countries.remove("IS", iceland.version); });
    check(std::get<holdfast::Error>(refused).status() == HF_VERSION_MISMATCH, "an old version is refused");

    auto languages = store.typed<Language>("languages");
    auto three = languages.find(R"({"type": "C"})", R"({"limit": 3})");
    check(three.size() == 3 && three[0].type == "C", "three constructed languages");
    std::printf("  %" PRIu64 " constructed languages, the first of them %s\n",
                languages.repository().count(R"({"type": "C"})"), three[0].name.c_str());
}

void be_refused(holdfast::Store &store) {
    auto currencies = store.repository("currencies");
    auto total = currencies.count();
    auto transaction = store.begin();
    check(currencies.within(transaction).fetch("ISK").has_value(), "there is ISK");
    currencies.within(transaction).remove("ISK");
    currencies.within(transaction).add(R"({"alpha_3":"XIK"})");
    // Somebody else is quicker.
    currencies.patch("ISK", R"({"digits":0})");
    try {
        transaction.commit();
        check(false, "the transaction is refused");
    } catch (const holdfast::Error &error) {
        check(error.status() == HF_CONFLICT && error.retryable(), "it is a conflict");
        std::printf("  %s\n", error.what());
    }
    check(currencies.contains("ISK") && currencies.count() == total, "nothing has changed");
}

std::string visit(int number) {
    return "{\"id\": " + std::to_string(number) + ", \"place\": \"IS-" + std::to_string(number % 9) + "\"}";
}

void commit_thousands(holdfast::Store &store) {
    auto visits = store.repository("visits");
    std::vector<std::future<holdfast::Receipt>> commits;
    for (int number = 0; number < load; number++) {
        auto transaction = store.begin();
        visits.within(transaction).save(visit(number));
        commits.push_back(transaction.submit()); // It goes on when the handle is gone.
    }
    std::uint64_t last = 0;
    int failed = 0;
    for (auto &commit : commits) {
        auto sequence = commit.get().sequence;
        failed += sequence <= last;
        last = sequence;
    }
    std::printf("  %zu completed in commit order, %d failed\n", commits.size(), failed);
    check(failed == 0 && visits.count() == load, "all are stored, in order");
}

// A live query hears of each change, and of nothing that is not its affair.
void follow(holdfast::Store &store) {
    auto scripts = store.repository("scripts");
    std::promise<std::string> first;
    std::promise<std::string> second;
    std::atomic<int> count{0};
    auto live = scripts.live(R"({"on_duty": true})", [&](const holdfast::Event &event) {
        (count++ == 0 ? first : second).set_value(std::string(event.value()));
    });
    first.get_future().wait();
    scripts.patch("Cyrl", R"({"seen": 1})");
    scripts.patch("Latn", R"({"on_duty": true})");
    check(second.get_future().get().find("\"id\":\"Latn\"") != std::string::npos, "Latn is told");
    std::puts("  one script came on duty");
}

// The child tells each acknowledged commit to its parent, through standard output.
void write_until_killed(const char *path) {
    auto store = holdfast::Store::open(path);
    auto visits = store.repository("visits");
    for (int number = load;; number++) {
        auto transaction = store.begin();
        visits.within(transaction).save(visit(number));
        transaction.submit([number](const holdfast::Event &event) {
            event.throw_failure();
            if (write(STDOUT_FILENO, &number, sizeof number) != sizeof number)
                _exit(1);
        });
    }
}

void kill_a_writer(const char *path) {
    int ends[2];
    check(pipe(ends) == 0, "there is a pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "iso_registers", "write", path, nullptr);
        _exit(127);
    }
    close(ends[1]);
    std::vector<int> acknowledged;
    int number = 0;
    while (read(ends[0], &number, sizeof number) == sizeof number) {
        acknowledged.push_back(number);
        if (acknowledged.size() == load)
            kill(child, SIGKILL); // What it had acknowledged until then is still in the pipe.
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    auto store = holdfast::Store::open(path);
    auto visits = store.repository("visits");
    std::size_t found = 0;
    for (int one : acknowledged)
        found += visits.contains(std::to_string(one));
    std::printf("  %zu commits were acknowledged before the kill, %zu of them are there\n",
                acknowledged.size(), found);
    check(acknowledged.size() >= load && found == acknowledged.size(), "no acknowledged commit is lost");
}

void tour(const std::string &path) {
    {
        auto store = holdfast::Store::open(path);
        std::printf("Importing into %s\n", path.c_str());
        std::size_t total = 0;
        for (const Register &r : registers)
            total += import_register(store, r);
        std::printf("  %zu entities\n", total);
        std::puts("Reading and updating");
        read_and_update(store);
        std::puts("A transaction that comes too late is refused, and nothing has changed");
        be_refused(store);
        std::puts("Thousands of commits at once");
        commit_thousands(store);
        std::puts("Following a query");
        follow(store);
    }
    std::puts("A writer is killed");
    kill_a_writer(path.c_str());
    check(hf_handle_count(nullptr) == 0, "nothing is left");
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && std::string_view(argv[1]) == "write") {
        write_until_killed(argv[2]);
    }
    setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("Holdfast %s\n", hf_version_text());
    char directory[] = "/tmp/iso-registers-XXXXXX";
    if (mkdtemp(directory) == nullptr)
        return 1;
    int result = 0;
    try {
        tour(std::string(directory) + "/registers.db");
        std::puts("Done");
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        result = 1;
    }
    std::filesystem::remove_all(directory);
    return result;
}
