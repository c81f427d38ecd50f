/*
 * Holdfast for C++ against the real library: misuse, threads, early closing, callbacks that throw, conflicts,
 * deadlines, and that nothing is left behind. Every test is a sentence; the program ends with 1 when one
 * fails.
 */
#include <holdfast.hpp>

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace {

int failures = 0;

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

void test(const char *sentence, const std::function<void()> &body) {
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

holdfast::Store memory(const char *options = "") { return holdfast::Store::open("memory:", options); }

struct Song {
    std::string id;
    int plays = 0;
};
std::string to_entity(const Song &song) {
    return "{\"id\": " + holdfast::quote(song.id) + ", \"plays\": " + std::to_string(song.plays) + "}";
}
void from_entity(std::string_view json, Song &song) {
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

void writes_and_reads() {
    auto store = memory();
    auto songs = store.repository("songs");
    auto added = songs.add(R"({"id": "s1", "plays": 1})");
    CHECK(added.version > 0);
    CHECK(status_of([&] { songs.add(R"({"id": "s1"})"); }) == HF_EXISTS);
    CHECK(songs.patch("s1", R"({"plays": 2})", added.version).json == R"({"id": "s1", "plays": 2})");
    CHECK(status_of([&] { songs.update(R"({"id": "s1"})", added.version); }) == HF_VERSION_MISMATCH);
    CHECK(status_of([&] { songs.update(R"({"id": "s2"})"); }) == HF_NOT_FOUND);
    CHECK(status_of([&] { songs.remove("s2"); }) == HF_NOT_FOUND);
    songs.modify("s2", R"({"$inc": {"plays": 5}})", "{}");
    CHECK(!songs.fetch("nobody"));
    CHECK(songs.count(R"({"plays": {"$gt": 1}})") == 2);
    CHECK(songs.first("{}", R"({"sort": {"plays": -1}})")->json.find("s2") != std::string::npos);
    std::string ids;
    for (auto song : songs.find())
        ids += song.id;
    CHECK(ids == "s1s2");
    CHECK(songs.find().json().front() == '[');
    auto cursor = songs.cursor();
    std::size_t pieces = 0, seen = 0;
    for (auto piece = cursor.next(1); !piece.empty(); piece = cursor.next(1), pieces++)
        seen += piece.size();
    CHECK(pieces == 2 && seen == 2);
    songs.remove("s2");
    CHECK(!songs.contains("s2") && songs.contains("s1"));
}

void typed_entities() {
    auto store = memory();
    auto songs = store.typed<Song>("songs");
    CHECK(songs.add({"s\"1", 3}).plays == 3);
    CHECK(songs.save({"s2", 4}).plays == 4);
    CHECK(songs.fetch("s2")->plays == 4 && !songs.fetch("s3"));
    CHECK(songs.find(R"({"plays": {"$gte": 4}})").size() == 1);
    store.transact([&](holdfast::Transaction &t) { songs.within(t).save({"s2", 5}); });
    CHECK(songs.first(R"({"plays": 5})")->id == "s2");
}

void errors_tell() {
    auto store = memory();
    auto songs = store.repository("songs");
    auto failed = holdfast::attempt([&] { return songs.find(R"({"a": {"$near": 1}})"); });
    auto &error = std::get<holdfast::Error>(failed);
    holdfast::Error copy = error;
    CHECK(copy.status() == HF_INVALID_QUERY && copy.detail().find("$near") != std::string_view::npos);
    CHECK(!copy.retryable() && copy.commit_state() == HF_COMMIT_NONE && std::string(copy.what()).size() > 10);
    CHECK(status_of([] { (void)holdfast::Store::open("memory:", R"({"durabilty": 1})"); }) ==
          HF_INVALID_OPTION);
    CHECK(std::get<std::uint64_t>(holdfast::attempt([&] { return songs.count(); })) == 0);
}

void moved_from() {
    auto store = memory();
    auto first = store.begin();
    auto second = std::move(first);
    CHECK(status_of([&] { first.commit(); }) == HF_INVALID_ARGUMENT);
    CHECK(second.commit().sequence == 0);
    CHECK(status_of([&] { second.commit(); }) == HF_INVALID_STATE);
    auto other = std::move(store);
    CHECK(status_of([&] { (void)store.begin(); }) == HF_INVALID_ARGUMENT);
    CHECK(other.describe().front() == '{');
}

void rolls_back() {
    auto store = memory();
    auto songs = store.repository("songs");
    {
        auto transaction = store.begin();
        songs.within(transaction).save(R"({"id": "s1"})");
        CHECK(songs.within(transaction).contains("s1"));
    }
    CHECK(songs.count() == 0);
    auto transaction = store.begin();
    auto inside = songs.within(transaction);
    inside.save(R"({"id": "kept"})");
    auto place = transaction.savepoint();
    inside.save(R"({"id": "undone"})");
    transaction.rollback_to(place);
    try {
        transaction.scope([&] {
            inside.save(R"({"id": "failed"})");
            throw std::runtime_error("no");
        });
        CHECK(false);
    } catch (const std::runtime_error &) {
    }
    transaction.scope([&] { inside.save(R"({"id": "scoped"})"); });
    auto receipt = transaction.commit();
    CHECK(receipt.changes.size() == 2 && receipt.changes[0].id == "kept" &&
          receipt.changes[1].id == "scoped");
    CHECK(receipt.changes[0].version == receipt.sequence && !receipt.changes[0].is_deletion);
}

void runs_again() {
    auto store = memory();
    auto songs = store.repository("songs");
    songs.save(R"({"id": "s1", "plays": 0})");
    int runs = 0;
    auto receipt = store.transact([&](holdfast::Transaction &t) {
        auto inside = songs.within(t);
        auto text = inside.fetch("s1")->json;
        if (runs++ == 0)
            songs.modify("s1", R"({"$inc": {"plays": 10}})"); // Somebody else is quicker.
        Song song;
        from_entity(text, song);
        song.plays++;
        inside.save(to_entity(song));
    });
    CHECK(runs == 2 && receipt.attempts == 2);
    Song song;
    from_entity(songs.fetch("s1")->json, song);
    CHECK(song.plays == 11);
    runs = 0;
    CHECK(status_of([&] {
              store.transact(
                  [&](holdfast::Transaction &) {
                      runs++;
                      throw holdfast::Error(HF_CONFLICT, "again");
                  },
                  R"({"max_attempts": 3})");
          }) == HF_CONFLICT);
    CHECK(runs == 3);
}

void body_throws() {
    auto store = memory();
    auto songs = store.repository("songs");
    struct Own {
        int number;
    };
    int caught = 0;
    try {
        store.transact([&](holdfast::Transaction &t) {
            songs.within(t).save(R"({"id": "s1"})");
            throw Own{42};
        });
    } catch (const Own &own) {
        caught = own.number;
    }
    CHECK(caught == 42 && songs.count() == 0);
    CHECK(status_of([&] {
              store.transact([&](holdfast::Transaction &t) { songs.within(t).update(R"({"id": "s1"})"); });
          }) == HF_NOT_FOUND);
    // What a body caught is its own affair.
    store.transact([&](holdfast::Transaction &t) {
        CHECK(status_of([&] { songs.within(t).update(R"({"id": "s1"})"); }) == HF_NOT_FOUND);
        CHECK(status_of([&] { t.commit(); }) == HF_INVALID_STATE);
        songs.within(t).save(R"({"id": "s1"})");
    });
    CHECK(songs.count() == 1);
}

void replays() {
    auto store = memory();
    auto songs = store.repository("songs");
    int runs = 0;
    auto body = [&](holdfast::Transaction &t) {
        runs++;
        songs.within(t).save(R"({"id": "s1"})");
    };
    auto first = store.transact(body, R"({"idempotency_key": "k"})");
    auto second = store.transact(body, R"({"idempotency_key": "k"})");
    CHECK(runs == 1 && second.is_replayed && second.sequence == first.sequence && !first.is_replayed);
}

void submitted(const char *options, bool by_queue) {
    auto store = memory(options);
    auto songs = store.repository("songs");
    std::atomic<int> ended{0};
    Witness witness;
    for (int i = 0; i < 200; i++) {
        auto transaction = store.begin();
        songs.within(transaction).save("{\"id\": " + std::to_string(i) + "}");
        transaction.submit([&ended, witness](const holdfast::Event &event) {
            ended += event.receipt().changes.size() == 1 && event.kind() == HF_EVENT_COMMIT;
        });
    }
    if (by_queue) {
        pollfd waiting{store.event_descriptor(), POLLIN, 0};
        while (ended < 200) {
            CHECK(poll(&waiting, 1, 5000) == 1);
            store.deliver();
        }
    }
    store.close();
    CHECK(ended == 200);
    CHECK(witness.life.use_count() == 1);
}

void refused_submission() {
    auto store = memory();
    auto transaction = store.begin();
    transaction.rollback();
    Witness witness;
    CHECK(status_of([&] { transaction.submit([witness](const holdfast::Event &) {}); }) == HF_INVALID_STATE);
    CHECK(witness.life.use_count() == 1);
    auto songs = store.repository("songs");
    CHECK(status_of([&] { (void)songs.live("{", [witness](const holdfast::Event &) {}); }) ==
          HF_INVALID_JSON);
    CHECK(witness.life.use_count() == 1);
    CHECK(!transaction.cancel());
}

void failed_submission() {
    auto store = memory();
    auto songs = store.repository("songs");
    songs.save(R"({"id": "s1"})");
    auto transaction = store.begin();
    (void)songs.within(transaction).fetch("s1");
    songs.within(transaction).save(R"({"id": "s2"})");
    songs.patch("s1", R"({"a": 1})");
    auto future = transaction.submit();
    auto failed = holdfast::attempt([&] { return future.get(); });
    auto &error = std::get<holdfast::Error>(failed);
    CHECK(error.status() == HF_CONFLICT && error.retryable());
    CHECK(error.detail().find("s1") != std::string_view::npos);
}

void throwing_callbacks() {
    std::atomic<int> told{0};
    auto before = std::exchange(holdfast::uncaught_handler(), [&](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::runtime_error &error) {
            told += error.what() == std::string("mine");
        }
    });
    {
        auto store = memory();
        auto songs = store.repository("songs");
        auto transaction = store.begin();
        songs.within(transaction).save(R"({"id": "s1"})");
        transaction.submit([](const holdfast::Event &) { throw std::runtime_error("mine"); });
        auto next = store.begin();
        songs.within(next).save(R"({"id": "s2"})");
        CHECK(next.submit().get().sequence > 0);
        CHECK(told == 1 && songs.count() == 2);
    }
    holdfast::uncaught_handler() = before;
}

void lives() {
    auto store = memory();
    auto songs = store.repository("songs");
    songs.save(R"({"id": "s1", "plays": 9})");
    std::atomic<int> events{0};
    std::promise<std::string> snapshot, change;
    Witness witness;
    {
        auto live = songs.live(R"({"plays": {"$gt": 5}})", [&, witness](const holdfast::Event &event) {
            int number = events++;
            if (number < 2)
                (number == 0 ? snapshot : change).set_value(std::string(event.value()));
        });
        CHECK(snapshot.get_future().get().find("\"snapshot\":[{\"id\": \"s1\"") != std::string::npos);
        songs.save(R"({"id": "s2", "plays": 1})");
        songs.save(R"({"id": "s3", "plays": 6})");
        CHECK(change.get_future().get().find("\"inserted\":[{\"position\":1,\"id\":\"s3\"") !=
              std::string::npos);
    }
    CHECK(witness.life.use_count() == 1); // Gone with the stream.
    songs.save(R"({"id": "s4", "plays": 7})");
    store.sync();
    CHECK(events == 2);

    std::promise<std::string> seen;
    auto stream =
        store.observe([&](const holdfast::Event &event) { seen.set_value(std::string(event.value())); },
                      R"({"repository": "songs", "id": "s4"})");
    songs.remove("s4");
    CHECK(seen.get_future().get().find("\"delete\"") != std::string::npos);
}

void freed_inside() {
    auto store = memory();
    auto songs = store.repository("songs");
    std::promise<void> gone;
    Witness witness;
    std::optional<holdfast::Stream> live;
    std::mutex ready;
    {
        std::lock_guard<std::mutex> lock(ready); // The callback may come before `live` is there.
        live = songs.live("{}", [&, witness](const holdfast::Event &) {
            std::lock_guard<std::mutex> lock(ready);
            live.reset();
            gone.set_value();
        });
    }
    gone.get_future().wait();
    store.close();
    CHECK(witness.life.use_count() == 1);
}

void participants() {
    auto store = memory();
    auto songs = store.repository("songs");
    std::string told;
    Witness witness;
    bool refuse = false;
    {
        holdfast::Participant root({[&, witness] { told += "b"; },
                                    [&](holdfast::Transaction *t) {
                                        CHECK(t != nullptr && songs.within(*t).contains("s1"));
                                        if (refuse)
                                            throw std::runtime_error("the sum is not 100");
                                    },
                                    [&] { told += "c"; },
                                    [&] { told += "r"; },
                                    {},
                                    {}});
        holdfast::Participant child({{}, {}, [&] { told += "C"; }, [&] { told += "R"; }, {}, {}}, &root);
        auto body = [&](holdfast::Transaction &t) {
            t.enlist(root);
            CHECK(child.active());
            songs.within(t).save(R"({"id": "s1"})");
        };
        store.transact(body);
        CHECK(told == "bCc");
        refuse = true;
        auto refused = holdfast::attempt([&] { return store.transact(body); });
        auto &error = std::get<holdfast::Error>(refused);
        CHECK(error.status() == HF_REFUSED && error.what() == std::string("the sum is not 100"));
        CHECK(told == "bCcbRr" && !root.active());
        CHECK(status_of([&] { root.attach(child); }) == HF_CYCLE);
        child.detach();
    }
    CHECK(witness.life.use_count() == 1);
}

void early_close() {
    std::optional<holdfast::Store> store = memory();
    auto songs = store->repository("songs");
    auto open = store->begin();
    songs.within(open).save(R"({"id": "s1"})");
    auto on_its_way = store->begin();
    songs.within(on_its_way).save(R"({"id": "s2"})");
    auto future = on_its_way.submit();
    store.reset();
    CHECK(future.get().sequence > 0);
    CHECK(status_of([&] { (void)songs.count(); }) == HF_CLOSED);
    CHECK(status_of([&] { open.commit(); }) != HF_OK);
}

void queue_dropped() {
    Witness witness;
    std::future<holdfast::Receipt> never;
    {
        auto store = memory(R"({"delivery": "queue"})");
        auto songs = store.repository("songs");
        auto transaction = store.begin();
        songs.within(transaction).save(R"({"id": "s1"})");
        transaction.submit([witness](const holdfast::Event &) { CHECK(false); });
        auto other = store.begin();
        never = other.submit();
    }
    CHECK(witness.life.use_count() == 1);
    bool broken = false;
    try {
        never.get();
    } catch (const std::future_error &) {
        broken = true; // Nobody delivered it, and nobody waits for ever.
    }
    CHECK(broken);
    auto store = memory(R"({"delivery": "queue"})");
    store.close();
    CHECK(status_of([&] { store.deliver(); }) == HF_CLOSED);
    CHECK(status_of([] { (void)memory().event_descriptor(); }) == HF_UNSUPPORTED);
}

void deadlines() {
    auto store = memory();
    auto songs = store.repository("songs");
    auto started = std::chrono::steady_clock::now();
    CHECK(status_of([&] {
              store.transact([](holdfast::Transaction &) { throw holdfast::Error(HF_CONFLICT, "again"); },
                             R"({"timeout_ms": 100, "max_attempts": 1000})");
          }) != HF_OK);
    CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(20));
    // A queue of one place that nobody empties: the next one is withdrawn in time.
    auto narrow = memory(R"({"delivery": "queue", "max_in_flight": 1})");
    auto places = narrow.repository("places");
    auto first = narrow.begin();
    places.within(first).save(R"({"id": "p1"})");
    auto stored = first.submit();
    auto second = narrow.begin(R"({"timeout_ms": 50})");
    places.within(second).save(R"({"id": "p2"})");
    CHECK(status_of([&] { (void)second.submit(); }) == HF_BUSY);
    while (stored.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        narrow.deliver(1000);
    CHECK(stored.get().sequence > 0);
}

void threads() {
    std::string directory = std::filesystem::temp_directory_path() / "holdfast-cpp-XXXXXX";
    CHECK(mkdtemp(directory.data()) != nullptr);
    {
        auto store = holdfast::Store::open(directory + "/threads.db");
        auto counters = store.repository("counters");
        counters.save(R"({"id": "c", "plays": 0})");
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([&] {
                for (int run = 0; run < 25; run++)
                    store.transact([&](holdfast::Transaction &t) {
                        Song counter;
                        from_entity(counters.within(t).fetch("c")->json, counter);
                        counter.plays++;
                        counters.within(t).save(to_entity(counter));
                    });
            });
        for (auto &thread : threads)
            thread.join();
        Song counter;
        from_entity(counters.fetch("c")->json, counter);
        CHECK(counter.plays == 100);
    }
    std::filesystem::remove_all(directory);
}

} // namespace

int main() {
    test("entities are added, changed, found and removed", writes_and_reads);
    test("types go through their to_entity and from_entity", typed_entities);
    test("an error tells its status and details, as a value, too", errors_tell);
    test("what was moved away is refused, and a commit comes once", moved_from);
    test("a transaction, a savepoint and a scope go back", rolls_back);
    test("a conflict runs the body again, up to the limit", runs_again);
    test("a body's exception rolls back and arrives", body_throws);
    test("an idempotency key answers the first receipt", replays);
    test("completions arrive on the callback thread", [] { submitted("", false); });
    test("completions arrive through the descriptor", [] { submitted(R"({"delivery": "queue"})", true); });
    test("a refused submission frees its lambda", refused_submission);
    test("a submitted conflict arrives with its details", failed_submission);
    test("a callback that throws harms no other commit", throwing_callbacks);
    test("a live query and an observer follow, and end with their handle", lives);
    test("a stream may be freed by its own callback", freed_inside);
    test("participants commit and roll back with the store", participants);
    test("a store may close before its commits and transactions", early_close);
    test("events that nobody takes free what they hold", queue_dropped);
    test("deadlines end retries and waits for a place", deadlines);
    test("threads count to the same number", threads);
    std::printf("%d wrong\n", failures);
    return failures != 0;
}
