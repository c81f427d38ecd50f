internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastServices
internal import Synchronization

/// What a handle may stand for.
enum HandleKind: UInt64, CaseIterable {
    case store = 1
    case repository = 2
    case transaction = 3
    case error = 4
    case cursor = 5
    case operation = 6
    case future = 7
    case participant = 8
    case stream = 9
    case controller = 10

    var name: String { "\(self)" }
}

/// What has handles.
protocol HandleObject: AnyObject { static var handleKind: HandleKind { get } }

extension Store: HandleObject { static var handleKind: HandleKind { .store } }
extension Repository: HandleObject { static var handleKind: HandleKind { .repository } }
extension Transaction: HandleObject { static var handleKind: HandleKind { .transaction } }
extension ErrorObject: HandleObject { static var handleKind: HandleKind { .error } }
extension Cursor: HandleObject { static var handleKind: HandleKind { .cursor } }
extension Operation: HandleObject { static var handleKind: HandleKind { .operation } }
extension Future: HandleObject { static var handleKind: HandleKind { .future } }
extension Participant: HandleObject { static var handleKind: HandleKind { .participant } }
extension ChangeStream: HandleObject { static var handleKind: HandleKind { .stream } }
extension Controller: HandleObject { static var handleKind: HandleKind { .controller } }

/// All handles of the process. A handle is no address: it encodes a slot of this table and the slot's generation, so
/// that a stale, foreign or invented one is told from a live one without touching what it may point to.
///
///     bits  0-3    0101, so that no handle is NULL, and none is the address of an aligned object
///     bits  4-27   slot
///     bits 28-31   kind
///     bits 32-39   fork epoch: a forked child has another, and a table of its own
///     bits 40-63   generation of the slot
///
/// No handle comes back: a slot whose generations are used up is never taken again, so a process can make 2^48, which
/// takes years. (A fork epoch comes back in the 256th child of a child.)
///
/// A call pins the slot while it uses the object, so a handle can be freed by another thread, or from inside a
/// callback, at any moment: the object goes when the last pin does. Pinning takes no lock.
enum HandleTable {
    private static let tag: UInt64 = 0b0101
    // As many as 24 bits name; how they are cut into chunks bounds nothing.
    private static let slotsInChunk = 1024
    private static let chunkLimit = 16384
    private static let generationLimit: UInt64 = 1 << 24

    /// A slot's word: generation (24 bits), seven bits that are 0, whether it is live (1), and how many calls use it (32).
    private static let live: UInt64 = 1 << 32

    private struct Slot: ~Copyable {
        let word = Atomic<UInt64>(0)
        /// Written only while the slot is not live and nobody pins it; retained for the table.
        var object: Unmanaged<AnyObject>?
        var kind = HandleKind.store
    }

    /// The slots of one process. Never freed, because lookups take no lock.
    private final class Slots: ProcessOwned, @unchecked Sendable {
        // Sendable: chunks are published with release and never move; the rest is behind the lock.
        let epoch: UInt32
        private let chunks: UnsafeMutablePointer<Atomic<UInt>>
        private let free = Lock(Free())

        private struct Free {
            /// Slots that were given back; those before `used` are taken again.
            var indexes: [Int] = []
            var used = 0
            /// The first slot that was never taken.
            var next = 0
            /// How many slots are taken, by kind.
            var counts = [Int](repeating: 0, count: 16)
        }

        init(epoch: UInt32) {
            self.epoch = epoch
            chunks = .allocate(capacity: chunkLimit)
            for index in 0..<chunkLimit { (chunks + index).initialize(to: Atomic<UInt>(0)) }
        }

        subscript(index: Int) -> UnsafeMutablePointer<Slot>? {
            guard index / slotsInChunk < chunkLimit else { return nil }
            let address = chunks[index / slotsInChunk].load(ordering: .acquiring)
            // Handles that are made one after the other are often used by threads beside each other: two cache lines lie
            // between their slots, which each use writes to.
            let (place, neighbours) = (index % slotsInChunk, 8)
            let rows = slotsInChunk / neighbours
            let offset = place % rows * neighbours + place / rows
            return UnsafeMutablePointer(bitPattern: address).map { $0 + offset }
        }

        /// A slot that nobody uses; the one freed longest ago first, so that generations last long.
        func take(for kind: HandleKind) -> Int? {
            free.withLock { free in
                free.counts[Int(kind.rawValue)] += 1
                if free.used < free.indexes.count {
                    free.used += 1
                    let index = free.indexes[free.used - 1]
                    if free.used > Limits.inForce.freedHandles && free.used * 2 > free.indexes.count {
                        free.indexes.removeFirst(free.used)
                        free.used = 0
                    }
                    return index
                }
                let index = free.next
                guard index < min(slotsInChunk * chunkLimit, Limits.inForce.handles) else {
                    free.counts[Int(kind.rawValue)] -= 1
                    return nil
                }
                free.next += 1
                if index % slotsInChunk == 0 {
                    let chunk = UnsafeMutablePointer<Slot>.allocate(capacity: slotsInChunk)
                    for offset in 0..<slotsInChunk { (chunk + offset).initialize(to: Slot()) }
                    chunks[index / slotsInChunk].store(UInt(bitPattern: chunk), ordering: .releasing)
                }
                return index
            }
        }

        /// `isUsedUp`: it is not taken again.
        func giveBack(_ index: Int, from kind: HandleKind, isUsedUp: Bool) {
            free.withLock { free in
                free.counts[Int(kind.rawValue)] -= 1
                if !isUsedUp { free.indexes.append(index) }
            }
        }

        /// How many are taken for a kind; nil for all.
        func count(_ kind: HandleKind?) -> Int {
            free.withLock { free in kind.map { free.counts[Int($0.rawValue)] } ?? free.counts.reduce(0, +) }
        }
    }

    /// What a pinned slot is given back with.
    private struct Pin {
        let slot: UnsafeMutablePointer<Slot>
        let index: Int
        let epoch: UInt32
    }

    private static let current = PerProcess<Slots>()

    // MARK: For the exports

    static func insert<Object: HandleObject>(_ object: Object) throws(HoldfastError) -> OpaquePointer {
        let kind = Object.handleKind
        let slots = current.value
        guard let index = slots.take(for: kind), let slot = slots[index] else {
            throw HoldfastError(.noMemory, "all 16 million handles are in use: free those that are no longer needed")
        }
        slot.pointee.object = Unmanaged.passRetained(object)
        slot.pointee.kind = kind
        let generation = slot.pointee.word.load(ordering: .relaxed) >> 40
        slot.pointee.word.store(generation << 40 | live, ordering: .releasing)
        let handle =
            tag | UInt64(index) << 4 | kind.rawValue << 28 | UInt64(slots.epoch & 0xff) << 32 | generation << 40
        return OpaquePointer(bitPattern: UInt(handle))!
    }

    /// Runs `body` with what the handle stands for.
    static func use<Object: HandleObject, Result>(
        _ handle: OpaquePointer?, _ body: (Object) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let pin = try pin(handle, Object.handleKind)
        defer { unpin(pin) }
        // The slot is pinned, so the object lives; its kind was checked, so it is of this class.
        return try body(unsafeDowncast(pin.slot.pointee.object!.takeUnretainedValue(), to: Object.self))
    }

    /// The same with a transaction, which may be NULL.
    static func use<Object: HandleObject, Result>(
        _ handle: OpaquePointer?, in transaction: OpaquePointer?,
        _ body: (Object, Transaction?) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        try use(handle) { (object: Object) throws(HoldfastError) in
            guard let transaction else { return try body(object, nil) }
            return try use(transaction) { (transaction: Transaction) throws(HoldfastError) in
                try body(object, transaction)
            }
        }
    }

    /// Takes the handle away from its owner and answers what it stood for; nil for none that is live.
    static func remove<Object: HandleObject>(_ handle: OpaquePointer?, as type: Object.Type) -> Object? {
        guard handle != nil, let pin = try? pin(handle, type.handleKind) else { return nil }
        defer { unpin(pin) }
        let object = unsafeDowncast(pin.slot.pointee.object!.takeUnretainedValue(), to: type)
        let before = pin.slot.pointee.word.bitwiseAnd(~live, ordering: .acquiringAndReleasing).oldValue
        // Two threads may free at once; one of them does.
        return before & live != 0 ? object : nil
    }

    static func count(_ kind: HandleKind?) -> Int { current.value.count(kind) }

    // MARK: Pins

    private static func pin(
        _ handle: OpaquePointer?, _ kind: HandleKind
    ) throws(HoldfastError) -> Pin {
        guard let handle else {
            throw HoldfastError(.invalidArgument, "the \(kind.name) is NULL: pass an open one")
        }
        let bits = UInt64(UInt(bitPattern: handle))
        guard bits & 0xf == tag, let actual = HandleKind(rawValue: bits >> 28 & 0xf) else { throw invalid(kind) }
        let slots = current.value
        if bits >> 32 & 0xff != UInt64(slots.epoch & 0xff) {
            guard actual == kind else { throw invalid(kind) }
            throw HoldfastError(
                .forked, "the \(kind.name) belongs to the process that forked this one: open the store anew here")
        }
        let index = Int(bits >> 4 & 0xff_ffff)
        guard let slot = slots[index] else { throw invalid(kind) }
        var word = slot.pointee.word.load(ordering: .relaxed)
        while true {
            guard word >> 40 == bits >> 40, word & live != 0 else { throw invalid(kind) }
            guard actual == kind else {
                throw HoldfastError(.invalidHandle, "the handle is a \(actual.name), where a \(kind.name) is expected")
            }
            let (exchanged, original) = slot.pointee.word.compareExchange(
                expected: word, desired: word + 1, ordering: .acquiringAndReleasing)
            if exchanged { return Pin(slot: slot, index: index, epoch: slots.epoch) }
            word = original
        }
    }

    private static func unpin(_ pin: Pin) {
        let slot = pin.slot
        let now = slot.pointee.word.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
        guard now & live == 0, now & 0xffff_ffff == 0 else { return }
        // The host's code may have forked in the middle of this call. What the child inherits it only leaves alone.
        let slots = current.value
        guard slots.epoch == pin.epoch else { return }
        // Nobody can pin a dead slot again, so this thread alone is here.
        let object = slot.pointee.object
        slot.pointee.object = nil
        let generation = now >> 40
        let isLast = generation + 1 >= min(generationLimit, UInt64(Limits.inForce.handleGenerations))
        slot.pointee.word.store((generation &+ 1) << 40, ordering: .releasing)
        slots.giveBack(pin.index, from: slot.pointee.kind, isUsedUp: isLast)
        object?.release()
    }

    private static func invalid(_ kind: HandleKind) -> HoldfastError {
        HoldfastError(.invalidHandle, "the handle is no live \(kind.name): it was freed, or never was one")
    }
}
