internal import CHoldfastPlatform
public import Synchronization

/// Who is reading something that others take apart meanwhile. A reader takes no lock and writes no memory that another
/// reader writes: each thread counts itself in and out on a cache line of its own (threads share one where there are more of
/// them than lines). Who takes something out learns here when nobody can be looking at it any more.
///
/// Time is cut into epochs, and a reader counts in the one in which it came. Something that was taken out can be seen by
/// those alone who came before that: when an epoch has begun since and the readers of the one before are gone, it can go.
/// (Fraser, "Practical lock-freedom", 2004, 5.2.3.) Two counts a line are enough, because an epoch begins only when the last
/// reader of the one before the current has left.
///
///     let visit = readers.enter(); defer { visit.leave() }; … look …
///     … take out …; if readers.advance() { … let go what was taken out before the last epoch began … }
public final class Readers: @unchecked Sendable {
    // Sendable: the words are only touched by atomic operations.

    /// Two cache lines each: processors fetch them in pairs.
    @usableFromInline static var lines: Int { 16 }
    @usableFromInline static var wordsInLine: Int { 16 }
    /// In a line's word: how many are inside (16 bits), and how many of those who left were to be counted.
    @usableFromInline static var insideBits: UInt64 { 16 }

    /// The lines, and one more, whose first word is the epoch.
    @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>

    public init() {
        let count = (Self.lines + 1) * Self.wordsInLine
        let block = UnsafeMutableRawPointer.allocate(byteCount: count * 8, alignment: 128)
        words = block.bindMemory(to: Atomic<UInt64>.self, capacity: count)
        for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
    }

    deinit { words.deallocate() }

    @usableFromInline var epoch: UnsafeMutablePointer<Atomic<UInt64>> { words + Self.lines * Self.wordsInLine }

    public struct Visit {
        @usableFromInline let word: UnsafeMutablePointer<Atomic<UInt64>>

        @usableFromInline init(_ word: UnsafeMutablePointer<Atomic<UInt64>>) { self.word = word }

        /// `counting`: for `counted`.
        @inlinable
        public func leave(counting: Bool = false) {
            let counted: UInt64 = counting ? 1 << Readers.insideBits : 0
            word.pointee.wrappingAdd(counted &- 1, ordering: .releasing)
        }
    }

    /// What the caller finds from here on stays until it leaves. It must not wait for anything in between.
    @inlinable
    public func enter() -> Visit {
        let line = words + threadNumber() % Self.lines * Self.wordsInLine
        while true {
            let now = epoch.pointee.load(ordering: .sequentiallyConsistent)
            let visit = Visit(line + Int(now & 1))
            visit.word.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
            // Who was overtaken by a new epoch may have been missed by those who looked whether anybody is inside.
            if epoch.pointee.load(ordering: .sequentiallyConsistent) == now { return visit }
            visit.leave()
        }
    }

    /// How many have left so.
    public var counted: UInt64 {
        (0..<Self.lines).reduce(0) { sum, line in
            let word = words + line * Self.wordsInLine
            return sum + (word[0].load(ordering: .relaxed) >> Self.insideBits)
                + (word[1].load(ordering: .relaxed) >> Self.insideBits)
        }
    }

    /// Begins a new epoch, unless somebody is still inside who came in the last one. By one thread at a time.
    public func advance() -> Bool {
        let next = epoch.pointee.load(ordering: .relaxed) &+ 1
        for line in 0..<Self.lines {
            let word = words + line * Self.wordsInLine + Int(next & 1)
            if word.pointee.load(ordering: .sequentiallyConsistent) & (1 << Self.insideBits - 1) != 0 { return false }
        }
        epoch.pointee.store(next, ordering: .sequentiallyConsistent)
        return true
    }

    /// Waits until all who are inside now have left, who never stay long. By one thread at a time.
    public func awaitLeaving() {
        for _ in 0..<2 {
            while !advance() { sched_yield() }
        }
    }
}

@usableFromInline func threadNumber() -> Int { Int(hfplatform_thread_number()) }
