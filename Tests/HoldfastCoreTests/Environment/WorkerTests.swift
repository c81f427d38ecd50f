import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment

@Suite("A worker's thread")
struct WorkerTests {
    @Test func `runs another step when it is woken in the middle of one`() throws {
        let steps = Lock(0)
        let (begun, woken) = (Outcome.Signal(), Outcome.Signal())
        let worker = try ThreadWorkers().start(name: "steps") {
            let step = steps.withLock { steps in
                steps += 1
                return steps
            }
            if step > 1 { return .finished }
            begun.give()
            _ = woken.comes()
            return .sleep()
        }
        #expect(begun.comes())
        worker.wake()
        woken.give()
        let deadline = SystemTime().monotonicNanoseconds() + 600_000_000_000
        #expect(worker.waitUntilFinished(deadline: deadline))
        #expect(steps.withLock { $0 } == 2)
    }
}
