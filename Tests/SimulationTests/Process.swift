import DrawnLimits

@testable import HoldfastCore
@testable import HoldfastEnvironment

/// A process of the simulated world: a store that it has opened, and what it runs there.
final class Process: @unchecked Sendable {
    // Confined to the simulation's thread.
    let storage: FaultyStorage
    let workers: SteppedWorkers
    let store: Store
    let limits: Limits
    let lists: Repository
    let accounts: Repository
    let members: Repository
    let watchers: Repository
    let claims: Repository

    init(on disk: Disk, in simulation: Simulation) throws(HoldfastError) {
        workers = SteppedWorkers(time: simulation.time)
        storage = FaultyStorage(disk: disk, simulation: simulation)
        var chance = simulation.chance
        limits = Limits.drawn(using: &chance)
        simulation.trace("limits: \(limits)")
        var options = StoreOptions()
        options.delivery = chance.happens(300) ? .queue : .callback
        options.maxSnapshots = chance.number(in: 1..<5)
        options.maxInFlight = chance.happens(200) ? 2 : 1_000
        options.logRetention = chance.happens(200) ? 5 : 100_000
        store = try Store(
            url: "simulated:", storage: storage, options: options,
            environment: Environment(time: simulation.time, random: chance, workers: workers, limits: limits),
            checks: simulation.weakness.checks)
        lists = try store.repository("lists", options: Self.caching(chance))
        accounts = try store.repository("accounts", options: Self.caching(chance))
        members = try store.repository("members", options: Self.caching(chance))
        watchers = try store.repository("watchers", options: Self.caching(chance))
        claims = try store.repository("claims", options: Self.caching(chance))
    }

    /// Sharing the general list, or under a policy so narrow that it matters.
    private static func caching(_ chance: SeededChance) -> RepositoryOptions {
        var options = RepositoryOptions()
        guard chance.happens(500) else { return options }
        options.cache = CachePolicy(
            strategy: chance.element(of: [.lru, .fifo]),
            timeToLiveMilliseconds: chance.element(of: [0, 0, 1, 10, 100]),
            maxEntries: chance.element(of: [nil, 0, 1, 2, 5]), maxBytes: chance.element(of: [nil, nil, 500]))
        return options
    }

    var hasFewPlaces: Bool { store.options.maxInFlight < 1_000 }

    /// Whether one more commit can be handed over without waiting for a slot.
    var hasPlace: Bool { store.queue.inFlight < store.options.maxInFlight && store.queue.claimCount == 0 }

    /// In queue delivery: takes what events there are.
    func takeEvents(limit: Int) {
        guard store.options.delivery == .queue else { return }
        for event in store.takeEvents(limit: limit, timeoutMilliseconds: 0) ?? [] {
            event.deliver()
        }
    }
}
