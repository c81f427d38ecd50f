import Testing

@testable import HoldfastCore

@Suite("The line of those who wait for a slot")
struct SlotLineTests {
    @Test func `lets everybody go at their own time, also behind others`() {
        var line = SlotLine()
        for deadline in [30, 10, 20] as [UInt64] { _ = line.append(SlotClaim(deadline: deadline) { _ in }) }
        #expect(line.nextDeadline == 10)
        #expect(line.removeLate(9).isEmpty)
        #expect(line.removeLate(10).map(\.deadline) == [10])
        #expect(line.nextDeadline == 20)
        #expect(line.removeLate(40).map(\.deadline) == [30, 20])
        #expect(line.isEmpty && line.nextDeadline == .max)
    }
}
