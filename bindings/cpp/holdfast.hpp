/*
 * Holdfast for C++17: one header over holdfast.h. Link with -lholdfast.
 *
 *     auto store = holdfast::Store::open("music.db");
 *     auto songs = store.repository("songs");
 *     store.transact([&](holdfast::Transaction &t) {          // runs again after a conflict
 *         auto song = songs.within(t).fetch("s1");
 *         songs.within(t).save(song ? louder(*song) : R"({"id": "s1", "plays": 1})");
 *     });
 *
 * What fails throws holdfast::Error; attempt() makes a value of it instead. Handles are moved, not copied,
 * and freed by their destructors, in any order. A lambda lives in the library until it has been called for
 * the last time. Everything may be used from any thread, as holdfast.h says.
 */
#ifndef HOLDFAST_HPP
#define HOLDFAST_HPP

#include <holdfast.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

// --- Errors ----------------------------------------------------------------------------------------------

/** What a call failed with. */
class Error : public std::runtime_error {
  public:
    /** Copies what the library's error tells; NULL: there is the status alone. */
    explicit Error(hf_status status, const hf_error *error = nullptr)
        : std::runtime_error(error != nullptr ? hf_error_message(error) : hf_status_name(status)),
          detail_(std::make_shared<const std::string>(hf_error_detail(error, nullptr))), status_(status),
          commit_state_(hf_error_commit_state(error)), retryable_(hf_error_is_retryable(error)) {}

    /** An error of the program's own, to be thrown where a callback refuses. */
    Error(hf_status status, const std::string &message)
        : std::runtime_error(message), detail_(std::make_shared<const std::string>("{}")), status_(status) {}

    [[nodiscard]] hf_status status() const noexcept { return status_; }
    /** Whether the same work may succeed when it is done again. */
    [[nodiscard]] bool retryable() const noexcept { return retryable_; }
    /** What became of the commit. */
    [[nodiscard]] hf_commit_state commit_state() const noexcept { return commit_state_; }
    /** Details for programs, a JSON object: see hf_error_detail. Valid as long as this error. */
    [[nodiscard]] std::string_view detail() const noexcept { return *detail_; }

  private:
    std::shared_ptr<const std::string> detail_; // A copy of an exception must not throw.
    hf_status status_;
    hf_commit_state commit_state_ = HF_COMMIT_NONE;
    bool retryable_ = false;
};

/** What a function answered, or the error that it threw. */
template <typename T>
using Result = std::variant<T, Error>;

/** Calls the function, and answers its value or the Error that it throws; other exceptions pass. A function
 * that answers nothing gives std::monostate. */
template <typename Function>
[[nodiscard]] auto attempt(Function &&function) {
    using Value = decltype(function());
    if constexpr (std::is_void_v<Value>) {
        try {
            function();
            return Result<std::monostate>(std::monostate());
        } catch (const Error &error) {
            return Result<std::monostate>(error);
        }
    } else {
        try {
            return Result<Value>(function());
        } catch (const Error &error) {
            return Result<Value>(error);
        }
    }
}

using UncaughtHandler = std::function<void(std::exception_ptr)>;

/** Who is told of an exception that a callback threw where nobody waits for it: for the end of a commit, news
 * of a stream, the notices of a participant. As for a std::thread it is std::terminate. Set it before the
 * first callback. */
inline UncaughtHandler &uncaught_handler() {
    static UncaughtHandler handler = [](std::exception_ptr) { std::terminate(); };
    return handler;
}

namespace detail {

template <typename T, void (*Free)(T *)>
struct Freed {
    void operator()(T *handle) const noexcept { Free(handle); }
};
template <typename T, void (*Free)(T *)>
using Handle = std::unique_ptr<T, Freed<T, Free>>;

/** Calls a function of the library's, whose last parameter is the error, and throws what it failed with; but
 * not HF_NOT_FOUND without an error, which is an answer: false. */
template <typename... Parameters, typename... Arguments>
bool call(hf_status (*function)(Parameters...), Arguments... arguments) {
    hf_error *error = nullptr;
    hf_status status = function(arguments..., &error);
    Handle<hf_error, hf_error_free> owner(error);
    if (status != HF_OK && (status != HF_NOT_FOUND || error != nullptr))
        throw Error(status, error);
    return status == HF_OK;
}

/** call, where a handle comes back by the parameter before the error. */
template <typename T, typename... Parameters, typename... Arguments>
[[nodiscard]] T *made(hf_status (*function)(Parameters...), Arguments... arguments) {
    T *handle = nullptr;
    call(function, arguments..., &handle);
    return handle;
}

/** Calls a callback of the program's; no exception passes into the library. */
template <typename Function>
void notify(Function &&function) noexcept {
    try {
        function();
    } catch (...) {
        uncaught_handler()(std::current_exception());
    }
}

/** The free_user_data of whatever a closure was given to the library as. */
template <typename Closure>
void destroy(void *closure) {
    delete static_cast<Closure *>(closure);
}

/** call, where a text comes back by the parameter before the error. */
template <typename... Parameters, typename... Arguments>
[[nodiscard]] std::string text(hf_status (*function)(Parameters...), Arguments... arguments) {
    hf_buffer buffer = HF_BUFFER_INIT;
    std::unique_ptr<hf_buffer, Freed<hf_buffer, hf_buffer_free>> owner(&buffer);
    call(function, arguments..., &buffer);
    return {buffer.data != nullptr ? buffer.data : "", buffer.length};
}

/** Options end at a NUL; an empty text means the defaults. */
using Options = const std::string &;

} // namespace detail

/** Text as a JSON string, with its quotes: for entities and filters that are put together by hand. */
[[nodiscard]] inline std::string quote(std::string_view text) {
    return detail::text(hf_json_quote, text.data() != nullptr ? text.data() : "", text.size());
}

// --- What the library answers ----------------------------------------------------------------------------

/** One entity: its bytes as stored, and its version; 0 where an open transaction wrote it. */
struct Entity {
    std::string json;
    std::uint64_t version = 0;
};

/** One entity of a list, lent by it. */
struct EntityView {
    std::string_view id, json;
    std::uint64_t version;
};

/** The entities that a query found, to be gone through by a range-based for. */
class Entities {
  public:
    Entities() = default;
    Entities(Entities &&other) noexcept : list_(std::exchange(other.list_, HF_ENTITY_LIST_INIT)) {}
    Entities &operator=(Entities &&other) noexcept {
        std::swap(list_, other.list_);
        return *this;
    }
    ~Entities() { hf_entity_list_free(&list_); }

    class iterator {
      public:
        explicit iterator(const hf_entity_view *item) : item_(item) {}
        EntityView operator*() const {
            return {{item_->id, item_->id_length}, {item_->data, item_->length}, item_->version};
        }
        iterator &operator++() {
            ++item_;
            return *this;
        }
        bool operator!=(iterator other) const { return item_ != other.item_; }

      private:
        const hf_entity_view *item_;
    };

    [[nodiscard]] iterator begin() const { return iterator(list_.items); }
    [[nodiscard]] iterator end() const { return iterator(list_.items + list_.count); }
    [[nodiscard]] std::size_t size() const noexcept { return list_.count; }
    [[nodiscard]] bool empty() const noexcept { return list_.count == 0; }
    [[nodiscard]] EntityView operator[](std::size_t index) const { return *iterator(list_.items + index); }
    /** All of them as one JSON array. */
    [[nodiscard]] std::string_view json() const {
        return list_.json != nullptr ? std::string_view(list_.json, list_.json_length) : "[]";
    }
    /** For calls of holdfast.h. */
    [[nodiscard]] hf_entity_list *get() noexcept { return &list_; }

  private:
    hf_entity_list list_ = HF_ENTITY_LIST_INIT;
};

/** One change of a receipt. */
struct Change {
    std::string repository, id;
    std::uint64_t version;
    bool is_deletion;
};

/** What a commit answered: see receipt.h. */
struct Receipt {
    std::uint64_t sequence = 0;
    std::string position;
    std::vector<Change> changes;
    int attempts = 0;
    bool is_durable = false, is_replayed = false, is_atomic = true;
    /** The whole of it as JSON. */
    std::string json;

    Receipt() = default;
    explicit Receipt(std::string text) : json(std::move(text)) {
        hf_receipt read = HF_RECEIPT_INIT;
        std::unique_ptr<hf_receipt, detail::Freed<hf_receipt, hf_receipt_free>> owner(&read);
        detail::call(hf_receipt_read, json.data(), json.size(), &read);
        sequence = read.sequence;
        position = read.position;
        attempts = read.attempts;
        is_durable = read.is_durable;
        is_replayed = read.is_replayed;
        is_atomic = read.is_atomic;
        changes.reserve(read.change_count);
        for (std::size_t i = 0; i < read.change_count; i++) {
            const hf_receipt_change &change = read.changes[i];
            changes.push_back(
                {change.repository, {change.id, change.id_length}, change.version, change.is_deletion});
        }
    }
};

/** An event, lent to a callback. */
class Event {
  public:
    explicit Event(const hf_event *event) : event_(event) {}
    [[nodiscard]] hf_event_kind kind() const noexcept { return event_->kind; }
    [[nodiscard]] hf_status status() const noexcept { return event_->status; }
    /** Of a stream: its news as JSON, see stream.h. */
    [[nodiscard]] std::string_view value() const { return view(event_->value.data, event_->value.length); }
    [[nodiscard]] std::string_view position() const {
        return view(event_->position.data, event_->position.length);
    }
    /** The receipt of a commit; throws what it failed with. */
    [[nodiscard]] Receipt receipt() const {
        throw_failure();
        return Receipt(std::string(view(event_->receipt.data, event_->receipt.length)));
    }
    /** Throws the event's Error, if it tells of a failure. */
    void throw_failure() const {
        if (event_->status == HF_OK)
            return;
        throw Error(event_->status, event_->error);
    }

  private:
    static std::string_view view(const char *data, std::size_t length) {
        return data != nullptr ? std::string_view(data, length) : std::string_view();
    }
    const hf_event *event_;
};

using EventCallback = std::function<void(const Event &)>;

namespace detail {

inline void on_event(const hf_event *event, void *closure) noexcept {
    notify([&] { (*static_cast<EventCallback *>(closure))(Event(event)); });
}

} // namespace detail

// --- Participants ----------------------------------------------------------------------------------------

class Transaction;

/** What an object of the program's does when a transaction begins and ends; leave out what it need not hear.
 * `validate` refuses by throwing; its transaction is NULL for a tree alone. The two savepoint functions are
 * given both or neither. */
struct ParticipantCallbacks {
    std::function<void()> begin;
    std::function<void(Transaction *)> validate;
    std::function<void()> commit, rollback;
    std::function<void(std::uint64_t)> savepoint, rollback_to;
};

/** An object that begins, validates, commits and rolls back with a transaction; participants form trees. */
class Participant {
  public:
    /** parent: NULL for the root of a new tree. */
    explicit Participant(ParticipantCallbacks callbacks, Participant *parent = nullptr);

    void attach(Participant &parent) { detail::call(hf_participant_attach, get(), parent.get()); }
    void detach() { detail::call(hf_participant_detach, get()); }
    [[nodiscard]] bool active() const {
        bool result = false;
        detail::call(hf_participant_active, get(), &result, nullptr);
        return result;
    }
    [[nodiscard]] hf_participant *get() const noexcept { return handle_.get(); }

  private:
    detail::Handle<hf_participant, hf_participant_free> handle_;
};

// --- Transactions ----------------------------------------------------------------------------------------

/** One unit of work. What is not committed when it is destroyed is rolled back; a submitted one goes on. */
class Transaction {
  public:
    /** Takes the handle over, or borrows it for the time of a callback. */
    explicit Transaction(hf_transaction *handle, bool owned = true) : handle_(handle, Release{owned}) {}

    /** Commits and waits for the outcome. */
    Receipt commit() { return Receipt(detail::text(hf_transaction_commit, get())); }

    /** Hands the commit over; the callback hears of its end, on the store's callback thread or within
     * Store::deliver. It is destroyed after that, or before this throws. */
    void submit(EventCallback on_end) {
        auto *closure = new EventCallback(std::move(on_end));
        detail::call(hf_transaction_submit, get(), detail::on_event, closure, detail::destroy<EventCallback>);
    }

    /** Hands the commit over; the future has its receipt or its Error. Under "queue" delivery somebody has to
     * call Store::deliver meanwhile. Waiting for it on the callback thread would never end. */
    [[nodiscard]] std::future<Receipt> submit() {
        auto promise = std::make_shared<std::promise<Receipt>>();
        submit([promise](const Event &event) {
            try {
                promise->set_value(event.receipt());
            } catch (...) {
                promise->set_exception(std::current_exception());
            }
        });
        return promise->get_future();
    }

    /** Withdraws a submitted commit while it is queued; false when it is too late. */
    bool cancel() { return hf_transaction_cancel(get(), nullptr) == HF_OK; }
    void rollback() { detail::call(hf_transaction_rollback, get()); }
    [[nodiscard]] std::uint64_t savepoint() {
        std::uint64_t number = 0;
        detail::call(hf_transaction_savepoint, get(), &number);
        return number;
    }
    void rollback_to(std::uint64_t savepoint) { detail::call(hf_transaction_rollback_to, get(), savepoint); }

    /** Runs a part that is all or nothing by itself: what it wrote goes back when it throws. */
    template <typename Body>
    void scope(Body &&body) {
        std::uint64_t number = 0;
        detail::call(hf_transaction_begin_scope, get(), std::uint64_t{0}, &number);
        try {
            body();
        } catch (...) {
            hf_status ended = hf_transaction_end_scope(get(), number, false, nullptr);
            (void)ended; // The commit tells it again, and the body's own exception says more.
            throw;
        }
        detail::call(hf_transaction_end_scope, get(), number, true);
    }

    /** Takes the participant's tree into the transaction. */
    void enlist(Participant &participant) { detail::call(hf_transaction_enlist, get(), participant.get()); }
    [[nodiscard]] hf_transaction *get() const noexcept { return handle_.get(); }

  private:
    struct Release {
        bool owned;
        void operator()(hf_transaction *handle) const noexcept {
            if (owned)
                hf_transaction_free(handle);
        }
    };
    std::unique_ptr<hf_transaction, Release> handle_;
};

// --- Repositories ----------------------------------------------------------------------------------------

/** Follows changes until it is destroyed; then no callback of it runs any more, and it is destroyed, too. */
class Stream {
  public:
    explicit Stream(hf_stream *handle) : handle_(handle) {}
    /** Of a durable subscription: everything up to this position is dealt with. */
    void acknowledge(const std::string &position) {
        detail::call(hf_stream_acknowledge, get(), position.c_str());
    }
    [[nodiscard]] hf_stream *get() const noexcept { return handle_.get(); }

  private:
    detail::Handle<hf_stream, hf_stream_free> handle_;
};

/** What a query finds, in pieces that take little memory. */
class Cursor {
  public:
    explicit Cursor(hf_cursor *handle) : handle_(handle) {}
    /** The next entities, at most so many; 0 for a piece of about 256 KiB. Empty once all were handed out. */
    [[nodiscard]] Entities next(std::uint64_t count = 0) {
        Entities piece;
        detail::call(hf_cursor_next, handle_.get(), count, piece.get());
        return piece;
    }

  private:
    detail::Handle<hf_cursor, hf_cursor_free> handle_;
};

/** A named collection of entities, or what a transaction sees of it. Copies stand for the same. Entities,
 * filters and updates are JSON, as repository.h says; a filter of "{}" matches all. */
class Repository {
  public:
    explicit Repository(hf_repository *handle) : handle_(handle, hf_repository_free) {}

    /** The same repository in a transaction, which has to outlive what is called on the result. */
    [[nodiscard]] Repository within(Transaction &transaction) const {
        Repository bound(*this);
        bound.transaction_ = transaction.get();
        return bound;
    }
    Repository within(Transaction &&) const = delete; // It would be gone before the call.

    /** Stores a new entity, which is given an id if it has none. HF_EXISTS when the id is taken. */
    Entity add(std::string_view entity) const {
        return stored(hf_repository_add, get(), transaction_, entity.data(), entity.size());
    }
    /** Stores an entity, new or not. */
    Entity save(std::string_view entity) const {
        return stored(hf_repository_save, get(), transaction_, entity.data(), entity.size());
    }
    /** Replaces an existing entity. HF_NOT_FOUND; HF_VERSION_MISMATCH unless it has the version (0: any). */
    Entity update(std::string_view entity, std::uint64_t expected_version = 0) const {
        return stored(hf_repository_update, get(), transaction_, entity.data(), entity.size(),
                      expected_version);
    }
    /** Changes some members by a JSON merge patch. */
    Entity patch(std::string_view id, std::string_view patch, std::uint64_t expected_version = 0) const {
        return stored(hf_repository_patch, get(), transaction_, id.data(), id.size(), patch.data(),
                      patch.size(), expected_version);
    }
    /** Changes an entity by update operators; begins with `initial` where there is none, unless that is
     * empty. */
    Entity modify(std::string_view id, std::string_view update, std::string_view initial = {}) const {
        return stored(hf_repository_modify, get(), transaction_, id.data(), id.size(), update.data(),
                      update.size(), initial.empty() ? nullptr : initial.data(), initial.size(),
                      std::uint64_t{0});
    }
    /** Deletes an entity. HF_NOT_FOUND where there is none. */
    void remove(std::string_view id, std::uint64_t expected_version = 0) const {
        detail::call(hf_repository_delete, get(), transaction_, id.data(), id.size(), expected_version);
    }
    /** Stores the entities of a JSON array, all or none. */
    void add_many(std::string_view entities) const {
        detail::call(hf_repository_add_many, get(), transaction_, entities.data(), entities.size(), nullptr);
    }

    [[nodiscard]] std::optional<Entity> fetch(std::string_view id) const {
        return maybe(hf_repository_fetch, get(), transaction_, id.data(), id.size());
    }
    [[nodiscard]] Entities find(std::string_view filter = "{}", detail::Options options = {}) const {
        Entities found;
        detail::call(hf_repository_find, get(), transaction_, filter.data(), filter.size(), options.c_str(),
                     found.get());
        return found;
    }
    [[nodiscard]] std::optional<Entity> first(std::string_view filter, detail::Options options = {}) const {
        return maybe(hf_repository_first, get(), transaction_, filter.data(), filter.size(), options.c_str());
    }
    [[nodiscard]] std::uint64_t count(std::string_view filter = "{}", detail::Options options = {}) const {
        std::uint64_t result = 0;
        detail::call(hf_repository_count, get(), transaction_, filter.data(), filter.size(), options.c_str(),
                     &result);
        return result;
    }
    [[nodiscard]] bool contains(std::string_view id) const {
        bool result = false;
        detail::call(hf_repository_contains, get(), transaction_, id.data(), id.size(), &result);
        return result;
    }
    [[nodiscard]] Cursor cursor(std::string_view filter = "{}", detail::Options options = {}) const {
        return Cursor(detail::made<hf_cursor>(hf_cursor_open, get(), transaction_, filter.data(),
                                              filter.size(), options.c_str()));
    }

    /** Follows a query's result: the first event has the whole of it, the next ones tell how it changes. */
    [[nodiscard]] Stream live(std::string_view filter, EventCallback on_event,
                              detail::Options options = {}) const {
        auto *closure = new EventCallback(std::move(on_event));
        return Stream(detail::made<hf_stream>(hf_stream_open_query, get(), filter.data(), filter.size(),
                                              options.c_str(), detail::on_event, closure,
                                              detail::destroy<EventCallback>));
    }
    [[nodiscard]] hf_repository *get() const noexcept { return handle_.get(); }

  private:
    template <typename... Arguments>
    static std::optional<Entity> maybe(Arguments... arguments) {
        hf_entity entity = HF_ENTITY_INIT;
        std::unique_ptr<hf_entity, detail::Freed<hf_entity, hf_entity_free>> owner(&entity);
        if (!detail::call(arguments..., &entity))
            return std::nullopt;
        return Entity{{entity.data, entity.length}, entity.version};
    }
    template <typename... Arguments>
    static Entity stored(Arguments... arguments) {
        return maybe(arguments...).value();
    }

    std::shared_ptr<hf_repository> handle_;
    hf_transaction *transaction_ = nullptr;
};

/**
 * A repository of a type of the program's, for which these are found beside it:
 *
 *     std::string to_entity(const Song &song);                  // a JSON object with its id
 *     void from_entity(std::string_view json, Song &song);
 */
template <typename T>
class Typed {
  public:
    explicit Typed(Repository repository) : repository_(std::move(repository)) {}
    [[nodiscard]] Typed within(Transaction &transaction) const {
        return Typed(repository_.within(transaction));
    }
    Typed within(Transaction &&) const = delete;

    T add(const T &value) const { return decoded(repository_.add(to_entity(value)).json); }
    T save(const T &value) const { return decoded(repository_.save(to_entity(value)).json); }
    T update(const T &value, std::uint64_t expected_version = 0) const {
        return decoded(repository_.update(to_entity(value), expected_version).json);
    }
    [[nodiscard]] std::optional<T> fetch(std::string_view id) const { return decoded(repository_.fetch(id)); }
    [[nodiscard]] std::optional<T> first(std::string_view filter, detail::Options options = {}) const {
        return decoded(repository_.first(filter, options));
    }
    [[nodiscard]] std::vector<T> find(std::string_view filter = "{}", detail::Options options = {}) const {
        std::vector<T> values;
        for (EntityView entity : repository_.find(filter, options))
            values.push_back(decoded(entity.json));
        return values;
    }
    /** For everything that needs no type. */
    [[nodiscard]] const Repository &repository() const noexcept { return repository_; }

  private:
    static T decoded(std::string_view json) {
        T value;
        from_entity(json, value);
        return value;
    }
    static std::optional<T> decoded(const std::optional<Entity> &entity) {
        return entity ? std::optional<T>(decoded(entity->json)) : std::nullopt;
    }
    Repository repository_;
};

// --- Stores ----------------------------------------------------------------------------------------------

/** A database. Destroyed it is closed: accepted commits are finished and told before. Repositories and
 * transactions may outlive it and throw HF_CLOSED then. */
class Store {
  public:
    /** url, options: as for hf_store_open. */
    [[nodiscard]] static Store open(const std::string &url, detail::Options options = {}) {
        detail::call(hf_version_select, HF_API_VERSION);
        return Store(detail::made<hf_store>(hf_store_open, url.c_str(), options.c_str()));
    }

    [[nodiscard]] Repository repository(const std::string &name, detail::Options options = {}) {
        return Repository(
            detail::made<hf_repository>(hf_repository_open, get(), name.c_str(), options.c_str()));
    }
    template <typename T>
    [[nodiscard]] Typed<T> typed(const std::string &name, detail::Options options = {}) {
        return Typed<T>(repository(name, options));
    }

    /** Begins a transaction that the caller commits. */
    [[nodiscard]] Transaction begin(detail::Options options = {}) {
        return Transaction(detail::made<hf_transaction>(hf_transaction_begin, get(), options.c_str()));
    }

    /**
     * Runs the body in a transaction and commits it; after a conflict it runs again. What the body throws
     * rolls back and is thrown from here, but for an Error of HF_CONFLICT, with which it runs again.
     *
     * options: as for hf_store_transact, such as {"timeout_ms": 500, "max_attempts": 3}.
     */
    template <typename Body>
    Receipt transact(Body &&body, detail::Options options = {}) {
        struct Run {
            Body &body;
            std::exception_ptr thrown;
        } run{body, nullptr};
        auto once = [](hf_transaction *handle, void *user_data, hf_error **) noexcept -> hf_status {
            auto *self = static_cast<Run *>(user_data);
            try {
                Transaction transaction(handle, false);
                self->body(transaction);
                return HF_OK;
            } catch (const Error &error) {
                if (error.status() == HF_CONFLICT)
                    return HF_CONFLICT;
                self->thrown = std::current_exception();
            } catch (...) {
                self->thrown = std::current_exception();
            }
            return HF_HOST_ERROR;
        };
        try {
            return Receipt(
                detail::text(hf_store_transact, get(), +once, static_cast<void *>(&run), options.c_str()));
        } catch (const Error &) {
            if (run.thrown)
                std::rethrow_exception(run.thrown);
            throw;
        }
    }

    /** Follows what is committed, as hf_stream_open says. */
    [[nodiscard]] Stream observe(EventCallback on_event, detail::Options options = {}) {
        auto *closure = new EventCallback(std::move(on_event));
        return Stream(detail::made<hf_stream>(hf_stream_open, get(), options.c_str(), detail::on_event,
                                              closure, detail::destroy<EventCallback>));
    }

    /** Of a store that was opened with {"delivery": "queue"}: a descriptor that is readable while deliver()
     * has something to do. It is the library's. */
    [[nodiscard]] int event_descriptor() const {
        int descriptor = -1;
        detail::call(hf_store_event_fd, get(), &descriptor);
        return descriptor;
    }

    /** Calls the callbacks of events that are ready, on this thread, waiting for the first (-1: for ever).
     * How many; throws HF_CLOSED when the store is closed and everything was delivered. */
    std::size_t deliver(std::int64_t timeout_ms = 0) {
        hf_event events[64];
        std::int32_t count = hf_store_events(get(), events, 64, timeout_ms);
        if (count < 0)
            throw Error(static_cast<hf_status>(-count));
        for (std::int32_t i = 0; i < count; i++)
            if (events[i].callback != nullptr)
                events[i].callback(&events[i], events[i].user_data);
        hf_events_free(events, static_cast<std::size_t>(count));
        return static_cast<std::size_t>(count);
    }

    void sync() { detail::call(hf_store_sync, get()); }
    /** The store as JSON: see hf_store_describe. */
    [[nodiscard]] std::string describe() const { return detail::text(hf_store_describe, get()); }
    /** Closes it; HF_TIMEOUT when it takes longer (-1: as long as it takes), to be called again. */
    void close(std::int64_t timeout_ms = -1) { detail::call(hf_store_close, get(), timeout_ms); }
    [[nodiscard]] hf_store *get() const noexcept { return handle_.get(); }

  private:
    explicit Store(hf_store *handle) : handle_(handle) {}
    detail::Handle<hf_store, hf_store_free> handle_;
};

// --- Participants, behind what they need -----------------------------------------------------------------

namespace detail {

inline hf_status on_validate(hf_transaction *handle, void *user_data, hf_error **out_error) noexcept {
    auto *callbacks = static_cast<ParticipantCallbacks *>(user_data);
    const char *message = "The validator threw something that is no std::exception.";
    hf_status status = HF_REFUSED;
    try {
        Transaction transaction(handle, false);
        callbacks->validate(handle != nullptr ? &transaction : nullptr);
        return HF_OK;
    } catch (const Error &error) {
        status = error.status();
        *out_error = hf_error_create(status, 0, error.what());
    } catch (const std::exception &error) {
        *out_error = hf_error_create(status, 0, error.what());
    } catch (...) {
        *out_error = hf_error_create(status, 0, message);
    }
    return status;
}

template <std::function<void()> ParticipantCallbacks::*Member>
void on_notice(const std::uint8_t *, void *user_data) noexcept {
    notify(static_cast<ParticipantCallbacks *>(user_data)->*Member);
}

template <std::function<void(std::uint64_t)> ParticipantCallbacks::*Member>
void on_savepoint(std::uint64_t savepoint, void *user_data) noexcept {
    notify([&] { (static_cast<ParticipantCallbacks *>(user_data)->*Member)(savepoint); });
}

} // namespace detail

inline Participant::Participant(ParticipantCallbacks callbacks, Participant *parent) {
    using C = ParticipantCallbacks;
    hf_participant_callbacks table = HF_PARTICIPANT_CALLBACKS_INIT;
    table.on_begin = callbacks.begin ? detail::on_notice<&C::begin> : nullptr;
    table.on_validate = callbacks.validate ? detail::on_validate : nullptr;
    table.on_commit = callbacks.commit ? detail::on_notice<&C::commit> : nullptr;
    table.on_rollback = callbacks.rollback ? detail::on_notice<&C::rollback> : nullptr;
    table.on_savepoint = callbacks.savepoint ? detail::on_savepoint<&C::savepoint> : nullptr;
    table.on_rollback_to = callbacks.rollback_to ? detail::on_savepoint<&C::rollback_to> : nullptr;
    auto *closure = new C(std::move(callbacks));
    handle_.reset(detail::made<hf_participant>(hf_participant_create,
                                               parent != nullptr ? parent->get() : nullptr, &table, closure,
                                               detail::destroy<C>));
}

} // namespace holdfast

#endif
