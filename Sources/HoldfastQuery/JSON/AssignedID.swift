public import HoldfastEnvironment

/// Ids that the library assigns are inserted into the entity's own text.
public enum AssignedID {
    /// The entity with `"name":"id",` as its first member and every other byte as it was. `entity` is
    /// the text of an object, checked before.
    public static func insert(
        _ id: EntityID, named name: String, into entity: UnsafeRawBufferPointer
    ) throws(HoldfastError) -> [UInt8] {
        let walker = JSONWalker(entity)
        try Memory.ask(for: entity.count + name.utf8.count + id.bytes.count)
        do throws(CorruptJSON) {
            let brace = try walker.skipWhiteSpace(0)
            var members = try walker.members(of: brace)
            let isEmpty = try members.next() == nil
            var writer = JSONWriter()
            writer.member(name)
            writer.string(utf8: id.bytes)

            var result: [UInt8] = []
            result.reserveCapacity(entity.count + writer.bytes.count + 1)
            result.append(contentsOf: walker.bytes(0, brace + 1))
            result.append(contentsOf: writer.bytes)
            if !isEmpty { result.append(UInt8(ascii: ",")) }
            result.append(contentsOf: walker.bytes(brace + 1, entity.count))
            return result
        } catch { throw HoldfastError(error) }
    }
}

/// Makes UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, then 74 random bits, so
/// that ids made later sort later.
///
/// Ids of one generator rise strictly, by "Monotonic Random (Method 2)" of section 6.2: within one
/// millisecond, or when the clock steps back, the random bits of the last id are taken as a number
/// and raised by a random amount. Should that overflow, the id's time moves one millisecond ahead.
public struct UUIDv7Generator: Sendable {
    private var milliseconds: UInt64 = 0
    /// The 74 bits behind the time: `rand_a` with 12, `rand_b` with 62.
    private var high: UInt64 = 0
    private var low: UInt64 = 0

    private static let highMask: UInt64 = 1 << 12 - 1
    private static let lowMask: UInt64 = 1 << 62 - 1

    public init() {}

    /// The next UUID, as 36 bytes of text. Of the random numbers the lowest 12 and 62 bits are used;
    /// `milliseconds` count from 1970.
    public mutating func next(milliseconds now: UInt64, random: (high: UInt64, low: UInt64)) -> EntityID {
        let now = now & (1 << 48 - 1)
        let random = (high: random.high & Self.highMask, low: random.low & Self.lowMask)
        if now > milliseconds {
            (milliseconds, high, low) = (now, random.high, random.low)
        } else {
            // 32 random bits keep the next id unguessable and leave room for 2^42 ids a millisecond.
            low += random.low & 0xFFFF_FFFF + 1
            if low > Self.lowMask {
                low &= Self.lowMask
                high += 1
            }
            if high > Self.highMask { (milliseconds, high, low) = (milliseconds + 1, random.high, random.low) }
        }
        let top = milliseconds << 16 | 0x7000 | high
        let bottom = 0b10 << 62 | low
        return EntityID(unchecked: Self.text(top, bottom))
    }

    private static func text(_ top: UInt64, _ bottom: UInt64) -> [UInt8] {
        let digits: StaticString = "0123456789abcdef"
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
            let half = index < 16 ? top : bottom
            text.append(digits.utf8Start[Int(half >> UInt64(60 - index % 16 * 4) & 0xF)])
        }
        return text
    }
}
