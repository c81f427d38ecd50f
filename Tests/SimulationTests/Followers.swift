import HoldfastStorage

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// Those who watch a process's store: an observer of everything, and live queries over what the clients change. What they
/// follow must be what is stored, whatever failed on the way.
final class Followers: @unchecked Sendable {
    // Confined to the simulation's thread.
    private let store: Store
    private let observer: FollowingObserver
    private let queries: [FollowingQuery]
    private var streams: [ChangeStream] = []

    init(_ process: Process, in simulation: Simulation) {
        store = process.store
        observer = FollowingObserver(simulation)
        let chance = simulation.chance
        queries = [process.lists, process.lists, process.accounts, process.members, process.members, process.watchers]
            .map {
                FollowingQuery($0, chance, simulation)
            }
        // What fails at opening is not followed.
        do throws(HoldfastError) {
            let since = try store.position()
            var options = StreamOptions()
            options.since = since
            streams.append(try store.openStream(options, observer))
            observer.begin(after: since)
        } catch { simulation.trace("no observer: \(error.status)") }
        for query in queries {
            do throws(HoldfastError) { streams.append(try query.open()) } catch {
                simulation.trace("no live query: \(error.status)")
            }
        }
    }

    /// Once nothing goes on and nothing fails.
    func check() {
        observer.check(store)
        for query in queries { query.check() }
    }

    /// Whoever loses interest.
    func cancelOne(_ chance: SeededChance) {
        guard !streams.isEmpty else { return }
        streams.remove(at: chance.number(in: 0..<streams.count)).cancel()
    }
}

/// Hears of every commit.
private final class FollowingObserver: StreamObserver, @unchecked Sendable {
    // Confined to the simulation's thread.
    private unowned let simulation: Simulation
    private var start: CommitSequence?
    private var told: [CommitSequence] = []

    init(_ simulation: Simulation) { self.simulation = simulation }

    func begin(after position: String) { start = Self.sequence(position) }

    func cancelled() { start = nil }

    func received(_ event: StreamEvent) {
        switch event {
        case .changes(let batch):
            for commit in batch.commits {
                if commit.sequence <= told.last ?? start ?? 0 { simulation.report("a commit was told out of order") }
                told.append(commit.sequence)
            }
        case .lost(let error):
            guard case .text(let position)? = error.detail.first(where: { $0.name == "position" })?.value else {
                return simulation.report("a lost position without a new one")
            }
            start = Self.sequence(position)
            told = []
        case .result, .state: simulation.report("a result was told to an observer of changes")
        case .ended(let error):
            if error.status != .closed { simulation.report("an observer ended: \(error.message)") }
            start = nil
        }
    }

    func check(_ store: Store) {
        guard let start else { return }
        do throws(HoldfastError) {
            let snapshot = try store.storage.beginSnapshot()
            defer { snapshot.close() }
            guard let entries = try snapshot.commitLog(after: start) else { return }
            let expected = entries.filter { !$0.changes.isEmpty }.map(\.sequence)
            if told != expected { simulation.report("of \(expected.count) commits \(told.count) were told") }
        } catch { simulation.report("the log could not be read: \(error.message)") }
    }

    private static func sequence(_ position: String) -> CommitSequence {
        CommitSequence(position.split(separator: ":").last ?? "") ?? 0
    }
}

/// Follows a live query's result by its differences.
private final class FollowingQuery: StreamObserver, @unchecked Sendable {
    // Confined to the simulation's thread.
    private unowned let simulation: Simulation
    private let repository: Repository
    private var options = QueryOptions()
    private var result: [Entity]?

    init(_ repository: Repository, _ chance: SeededChance, _ simulation: Simulation) {
        self.repository = repository
        self.simulation = simulation
        if chance.happens(500) {
            let path = try! Path(Array(chance.element(of: ["balance", "id", "group"]).utf8), what: "simulation")
            options.sort = SortOrder(fields: [SortOrder.Field(path: path, descending: chance.happens(500))])
            if chance.happens(500) { options.limit = UInt64(chance.number(in: 1..<4)) }
            if chance.happens(300) { options.skip = 1 }
        }
    }

    func open() throws(HoldfastError) -> ChangeStream { try repository.openLiveQuery(.all, options, self) }

    func cancelled() { result = nil }

    func received(_ event: StreamEvent) {
        switch event {
        case .result(let change):
            if let snapshot = change.snapshot { result = snapshot } else { apply(change) }
        case .changes, .lost, .state: simulation.report("a live query was told of changes")
        case .ended(let error):
            if error.status != .closed { simulation.report("a live query ended: \(error.message)") }
            result = nil
        }
    }

    private func apply(_ change: ResultChange) {
        guard let before = result else { return simulation.report("a difference came before any snapshot") }
        let leaving = Set(change.removed.map(\.position) + change.moved.map(\.from))
        var next = before.enumerated().filter { !leaving.contains($0.offset) }.map(\.element)
        let arriving =
            change.inserted.map { ($0.position, $0.entity) } + change.moved.map { ($0.to, before[$0.from]) }
        for (position, entity) in arriving.sorted(by: { $0.0 < $1.0 }) { next.insert(entity, at: position) }
        for one in change.changed { next[one.position] = one.entity }
        result = next
    }

    func check() {
        guard let result else { return }
        do throws(HoldfastError) {
            var options = options
            if options.sort == nil {
                let path = try Path(Array("id".utf8), what: "simulation")
                options.sort = SortOrder(fields: [SortOrder.Field(path: path, descending: false)])
            }
            let found = try repository.find(.all, options)
            let expected = try found.items.map { item throws(HoldfastError) in try found.body(of: item) }
            if result.map(\.body) != expected {
                simulation.report("\(repository.name): followed \(result.count), found \(expected.count), or others")
            }
        } catch { simulation.report("the query could not be run: \(error.message)") }
    }
}
