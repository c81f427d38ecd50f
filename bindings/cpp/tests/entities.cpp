/* Entities, errors and transactions, as a program meets them, and what it does wrong. */
#include "checks.hpp"

namespace {

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
    std::printf("%d wrong\n", failures);
    return failures != 0;
}
