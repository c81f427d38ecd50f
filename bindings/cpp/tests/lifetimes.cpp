/* Callbacks, streams, participants, threads and closing: what lives how long, whatever is thrown. */
#include "checks.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <poll.h>
#include <thread>

namespace {

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
            std::lock_guard<std::mutex> inside(ready);
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
