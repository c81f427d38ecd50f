import HoldfastCore
import HoldfastEnvironment
import SeededRandom

/// Time that passes only when the simulation says so. Sendable, like everything of a simulation, because all of it is
/// confined to the one thread that runs it.
final class VirtualTime: TimeSource, @unchecked Sendable {
    private(set) var nanoseconds: UInt64 = 1_000_000_000
    /// What the calendar is wrong by.
    private var error: Int64 = 0

    private var calendar: Int64 { 1_750_000_000_000 + Int64(nanoseconds / 1_000_000) }

    func monotonicNanoseconds() -> UInt64 { nanoseconds }
    func wallMilliseconds() -> UInt64 { UInt64(max(0, calendar + error)) }
    func pass(_ span: UInt64) { nanoseconds += span }

    /// Sets the calendar to another year.
    func jump(_ milliseconds: Int64) { error = milliseconds }
    func setRight() { error = 0 }
}

/// All chance of a simulation comes from one seed.
final class SeededChance: RandomSource, RandomNumberGenerator, @unchecked Sendable {
    // Confined to the simulation's thread.
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    func next() -> UInt64 { generator.next() }

    func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    func element<Element>(of elements: [Element]) -> Element { elements[number(in: 0..<elements.count)] }
    /// Whether something happens that happens so many times in a thousand.
    func happens(_ permille: Int) -> Bool { number(in: 0..<1_000) < permille }
}

/// Workers that run when the simulation chooses them.
final class SteppedWorkers: Workers, @unchecked Sendable {
    // Confined to the simulation's thread.
    private let time: VirtualTime
    private var workers: [SteppedWorker] = []
    /// Those whose step is being run, the innermost last.
    fileprivate var running: [SteppedWorker] = []

    init(time: VirtualTime) { self.time = time }

    func start(name: String, step: @escaping @Sendable () -> NextStep) throws(HoldfastError) -> any Worker {
        let worker = SteppedWorker(name: name, workers: self, step: step)
        workers.append(worker)
        return worker
    }

    /// Those that could run a step now.
    var ready: [SteppedWorker] {
        workers.filter { worker in
            !worker.isRunning && (worker.isWoken || worker.due.map { $0 <= time.nanoseconds } ?? false)
        }
    }

    /// Whether one of this name takes a turn, or will by itself.
    func isAwake(_ name: String) -> Bool { workers.contains { $0.name == name && ($0.isWoken || $0.isRunning) } }

    /// When the next sleeper wakes by itself.
    var nextDue: UInt64? { workers.compactMap(\.due).min() }

    func forget(_ worker: SteppedWorker) { workers.removeAll { $0 === worker } }
}

final class SteppedWorker: Worker, @unchecked Sendable {
    // Confined to the simulation's thread.
    fileprivate private(set) var isRunning = false
    fileprivate private(set) var isWoken = true
    fileprivate private(set) var due: UInt64?
    fileprivate let name: String
    private unowned let workers: SteppedWorkers
    private var body: (@Sendable () -> NextStep)?

    init(name: String, workers: SteppedWorkers, step: @escaping @Sendable () -> NextStep) {
        self.name = name
        self.workers = workers
        body = step
    }

    var isCurrent: Bool { workers.running.last === self }

    func wake() { isWoken = true }

    func waitUntilFinished(deadline: UInt64?) -> Bool { body == nil }

    func step() {
        guard let body else { return }
        isWoken = false
        due = nil
        isRunning = true
        workers.running.append(self)
        let next = body()
        workers.running.removeLast()
        isRunning = false
        switch next {
        case .again: isWoken = true
        case .sleep(let until): due = until
        case .finished:
            self.body = nil
            workers.forget(self)
        }
    }
}
