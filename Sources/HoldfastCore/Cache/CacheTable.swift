internal import CHoldfastPlatform
internal import HoldfastEnvironment
internal import HoldfastQuery
internal import Synchronization

/// The cached entities of one repository, by their ids: a hash table that is read without a lock while one thread at a time,
/// who has the cache's, changes it.
///
/// Open addressing, each slot one word: a block's address, and in the 16 bits that addresses leave free some of its id's
/// hash, so that other ids' blocks are hardly ever looked at. What is taken out of it, blocks and outgrown tables, is let go
/// when no reader can be looking at it any more (`Readers`).
///
/// It says nothing of whether what is found is still valid: `ShownState` does.
final class CacheTable: @unchecked Sendable {
    // What changes, and what guards it:
    //  - `table`, its slots, `timeToLive`, `countsUse`: atomic; written under the cache's lock.
    //  - Everything else: the cache's lock.

    typealias Entity = CachedEntity.Pointer
    private typealias Slots = UnsafeMutablePointer<Atomic<UInt64>>

    /// Where its repository stands in `CacheState`.
    let index: Int
    /// Which of two ids have the same hash is not to be foreseen by who chooses ids.
    private let seed: (UInt64, UInt64)
    /// The address of the slots, behind a word that is their number less one, which is a power of two. 0 while there are none.
    private let table = Atomic<UInt>(0)
    private let readers = Readers()
    /// In nanoseconds, 0 for none.
    let timeToLive = Atomic<UInt64>(0)
    /// Whether the order of eviction goes by use, which readers then note.
    let countsUse = Atomic<Bool>(true)

    @exclusivity(unchecked) private(set) var count = 0
    /// What the blocks and the slots take of the process's memory, with those that are taken out and not yet let go.
    @exclusivity(unchecked) private(set) var heldBytes = 0
    /// Slots that are not empty, those included whose entity was taken out.
    @exclusivity(unchecked) private var usedSlots = 0
    /// What was taken out since the last epoch began, and in the one before.
    @exclusivity(unchecked) private var takenOut = TakenOut()
    @exclusivity(unchecked) private var takenOutBefore = TakenOut()

    private struct TakenOut {
        var entities: [Entity] = []
        var slots: [UnsafeMutableRawPointer] = []
        var isEmpty: Bool { entities.isEmpty && slots.isEmpty }

        /// Answers how many bytes that gave back.
        func release() -> Int {
            var bytes = 0
            for entity in entities {
                bytes += hfplatform_block_bytes(entity)
                CachedEntity.release(entity)
            }
            for block in slots {
                bytes += hfplatform_block_bytes(block)
                free(block)
            }
            return bytes
        }
    }

    private static let addressBits: UInt64 = 48
    /// A slot whose entity was taken out: no block's address.
    private static let deleted: UInt64 = 1
    private static let smallest = 16
    private static let letGoAtOnce = 32

    init(index: Int) {
        self.index = index
        var random = SystemRandomNumberGenerator()
        seed = (random.next(), random.next())
    }

    deinit {
        _ = takenOut.release()
        _ = takenOutBefore.release()
        for entity in all { CachedEntity.release(entity) }
        if let slots { free(slots) }
    }

    // MARK: Reading, with or without the lock

    /// Those who came by here without the lock and found what they wanted.
    var hits: UInt64 { readers.counted }

    /// What lends an entity to a reader, and counts as a use of it.
    struct Lender {
        fileprivate let countsUse: Bool
        fileprivate var hasLent = false

        mutating func callAsFunction(
            _ entity: Entity, _ visit: (CommitSequence, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
        ) throws(HoldfastError) {
            hasLent = true
            if countsUse { entity.pointee.used.store(moment(), ordering: .relaxed) }
            try visit(entity.pointee.version, entity.body)
        }
    }

    /// Until `body` returns, what it finds stays in memory, whoever takes it out of the table.
    func visiting<Result>(
        _ body: (inout Lender) throws(HoldfastError) -> Result
    ) throws(HoldfastError) -> Result {
        let visit = readers.enter()
        var lender = Lender(countsUse: countsUse.load(ordering: .relaxed))
        defer { visit.leave(counting: lender.hasLent) }
        return try body(&lender)
    }

    /// A host's clock may go back.
    func isExpired(_ entity: Entity, _ now: UInt64) -> Bool {
        let (timeToLive, setAt) = (timeToLive.load(ordering: .relaxed), entity.pointee.setAt)
        return timeToLive > 0 && now > setAt && now - setAt > timeToLive
    }

    private var slots: Slots? { Slots(bitPattern: table.load(ordering: .acquiring)) }

    /// A keyed hash that multiplies what it folds in: nobody who does not know the key can choose ids whose products meet.
    func hash(_ id: UnsafeRawBufferPointer) -> UInt64 {
        var hash = seed.0 ^ UInt64(truncatingIfNeeded: id.count)
        var offset = 0
        while offset + 16 <= id.count {
            hash = Self.fold(
                id.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ hash,
                id.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self) ^ seed.1)
            offset += 16
        }
        // The last bytes, as two words that may overlap, or single.
        let rest = id.count - offset
        let (first, second): (UInt64, UInt64)
        if rest >= 8 {
            first = id.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            second = id.loadUnaligned(fromByteOffset: id.count - 8, as: UInt64.self)
        } else if rest >= 4 {
            first = UInt64(id.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            second = UInt64(id.loadUnaligned(fromByteOffset: id.count - 4, as: UInt32.self))
        } else if rest > 0 {
            first = UInt64(id[offset]) | UInt64(id[offset + rest / 2]) << 8 | UInt64(id[id.count - 1]) << 16
            second = 0
        } else {
            (first, second) = (0, 0)
        }
        hash = Self.fold(first ^ hash, second ^ seed.1)
        return Self.fold(hash ^ seed.0, 0x9E37_79B9_7F4A_7C15)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    /// The entity, as it was at some moment during the call.
    func find(_ id: UnsafeRawBufferPointer, _ hash: UInt64) -> Entity? {
        guard let slots, id.count > 0 else { return nil }
        let mask = slots.pointee.load(ordering: .relaxed)
        let tag = hash >> Self.addressBits
        var position = hash & mask
        while true {
            let word = slots[Int(position) + 1].load(ordering: .acquiring)
            if word == 0 { return nil }
            if word >> Self.addressBits == tag, let entity = Self.entity(word), entity.isOf(id, hash) { return entity }
            position = (position + 1) & mask
        }
    }

    private static func entity(_ word: UInt64) -> Entity? {
        let address = word & (1 << addressBits - 1)
        return address == deleted ? nil : Entity(bitPattern: UInt(address))
    }

    // MARK: Changing, under the lock

    /// Every entity, in no order.
    var all: [Entity] {
        guard let slots else { return [] }
        return (0...Int(slots.pointee.load(ordering: .relaxed))).compactMap {
            Self.entity(slots[$0 + 1].load(ordering: .relaxed))
        }
    }

    /// Takes the entity in, in the place of `old`, which is that of the same id. Answers false where there is no memory.
    func set(_ entity: Entity, insteadOf old: Entity?) -> Bool {
        let tag = entity.pointee.hash & ~(1 << Self.addressBits - 1)
        let word = UInt64(UInt(bitPattern: entity)) | tag
        // No system that this runs on gives a process addresses of more bits, unless it asks for them.
        guard UInt64(UInt(bitPattern: entity)) >> Self.addressBits == 0 else { return false }
        if let old {
            slots![slot(of: old)].store(word, ordering: .releasing)
            heldBytes += hfplatform_block_bytes(entity)
            letGo { $0.entities.append(old) }
            return true
        }
        guard makeRoom(), let slots else { return false }
        let mask = slots.pointee.load(ordering: .relaxed)
        var position = entity.pointee.hash & mask
        while true {
            let slot = slots + Int(position) + 1
            let before = slot.pointee.load(ordering: .relaxed)
            if Self.entity(before) == nil {
                slot.pointee.store(word, ordering: .releasing)
                if before == 0 { usedSlots += 1 }
                count += 1
                heldBytes += hfplatform_block_bytes(entity)
                return true
            }
            position = (position + 1) & mask
        }
    }

    func remove(_ entity: Entity) {
        slots![slot(of: entity)].store(Self.deleted, ordering: .releasing)
        count -= 1
        letGo { $0.entities.append(entity) }
    }

    func removeAll() {
        guard let slots else { return }
        let entities = all
        table.store(0, ordering: .releasing)
        (count, usedSlots) = (0, 0)
        letGo {
            $0.entities += entities
            $0.slots.append(slots)
        }
        // It may be that memory is short. Where nobody is inside, all of it is free after two epochs more.
        for _ in 0..<2 { beginEpoch() }
    }

    private func slot(of entity: Entity) -> Int {
        let mask = slots!.pointee.load(ordering: .relaxed)
        var position = entity.pointee.hash & mask
        while Self.entity(slots![Int(position) + 1].load(ordering: .relaxed)) != entity {
            position = (position + 1) & mask
        }
        return Int(position) + 1
    }

    /// Sees to it that after one more entity a quarter of the slots are empty.
    private func makeRoom() -> Bool {
        let old = slots
        let capacity = old.map { Int($0.pointee.load(ordering: .relaxed)) + 1 } ?? 0
        if (usedSlots + 1) * 4 <= capacity * 3 { return true }
        var wanted = Self.smallest
        while wanted < (count + 1) * 2 { wanted *= 2 }
        let bytes = (wanted + 1) * MemoryLayout<Atomic<UInt64>>.stride
        // Zeros are empty slots.
        guard Memory.isThere(for: bytes), let block = calloc(wanted + 1, MemoryLayout<Atomic<UInt64>>.stride) else {
            return false
        }
        heldBytes += hfplatform_block_bytes(block)
        let new = block.bindMemory(to: Atomic<UInt64>.self, capacity: wanted + 1)
        new.pointee.store(UInt64(wanted - 1), ordering: .relaxed)
        for position in 0..<capacity {
            let word = old![position + 1].load(ordering: .relaxed)
            guard let entity = Self.entity(word) else { continue }
            var position = Int(entity.pointee.hash & UInt64(wanted - 1))
            while new[position + 1].load(ordering: .relaxed) != 0 { position = (position + 1) & (wanted - 1) }
            new[position + 1].store(word, ordering: .relaxed)
        }
        usedSlots = count
        table.store(UInt(bitPattern: new), ordering: .releasing)
        if let old { letGo { $0.slots.append(UnsafeMutableRawPointer(old)) } }
        return true
    }

    /// Looking whether anybody is inside costs those who read a little, so entities are let go some at a time.
    private func letGo(_ note: (inout TakenOut) -> Void) {
        note(&takenOut)
        if takenOut.entities.count >= Self.letGoAtOnce || !takenOut.slots.isEmpty { beginEpoch() }
    }

    private func beginEpoch() {
        guard readers.advance() else { return }
        heldBytes -= takenOutBefore.release()
        takenOutBefore = takenOut
        takenOut = TakenOut()
    }
}
