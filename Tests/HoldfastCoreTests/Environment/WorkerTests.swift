import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment

@Suite("A worker's thread")
struct WorkerTests {
    @Test func `takes another turn when it is woken in the middle of one`() throws {
        let turns = Lock(0)
        let (begun, woken) = (Outcome.Signal(), Outcome.Signal())
        let worker = try ThreadWorkers().start(name: "turns") {
            let turn = turns.withLock { turns in
                turns += 1
                return turns
            }
            if turn > 1 { return .finished }
            begun.give()
            _ = woken.comes()
            return .sleep()
        }
        #expect(begun.comes())
        worker.wake()
        woken.give()
        let deadline = SystemTime().monotonicNanoseconds() + 600_000_000_000
        #expect(worker.waitUntilFinished(deadline: deadline))
        #expect(turns.withLock { $0 } == 2)
    }
}
