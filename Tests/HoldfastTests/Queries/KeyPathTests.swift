import Foundation
import Holdfast
import Testing

/// What a filter becomes in a repository, which takes it.
private func json<Entity: Codable & Identifiable & Sendable>(
    _ filter: Filter<Entity>, encoder: JSONEncoder? = nil, key: String = "id"
) async throws -> String where Entity.ID: EntityIdentifier {
    let store = try await Store.open("memory:")
    let repository = store.repository(of: Entity.self, key: key, encoder: encoder)
    let json = try filter.json(for: repository)
    _ = try await repository.count(filter)
    try await store.close()
    return json
}

/// The path of the one condition that a filter is.
private func path<Entity: Codable & Identifiable & Sendable>(
    _ filter: Filter<Entity>, encoder: JSONEncoder? = nil, key: String = "id"
) async throws -> String where Entity.ID: EntityIdentifier {
    String(try await json(filter, encoder: encoder, key: key).split(separator: "\"")[1])
}

@Suite("A decimal")
struct DecimalTests {
    private struct Priced: Codable, Identifiable, Sendable, Equatable {
        var id: String
        var price: Decimal
        var discount: Decimal?
        var steps: [Decimal] = []
    }

    /// As the operators are for any type, for which no compiler warns.
    private func more<Value: Comparable & Codable & Sendable>(
        _ member: any KeyPath<Priced, Value> & Sendable, than value: Value
    ) -> Filter<Priced> { member > value }

    @Test("is stored digit by digit; what would take it for a double is refused", arguments: Engine.allCases)
    func exact(engine: Engine) async throws {
        try await withStore(engine) { store in
            let goods = store.repository(of: Priced.self)
            let price = Decimal(string: "0.12345678901234567890123")!
            let good = Priced(id: "g1", price: price)
            try await goods.save(good)
            try await #expect(goods.fetch(id: "g1") == good)
            let changed = try await goods.modify(id: "g1", [.set(\.discount, price), .push(\.steps, price)])
            #expect(changed.discount == price && changed.steps == [price])
            let filters: [Filter<Priced>] = [
                more(\.price, than: 0), .in(\.price, [price]), .notIn(\.price, [price]), .contains(\.steps, price),
                \.discount == price, \.discount > price, ["price": ["$gt": price]], ["price": price],
                \.id == "g1" && !more(\.price, than: 1),
            ]
            for filter in filters {
                let error = await expectError(.invalidQuery) { _ = try await goods.find(filter) }
                #expect(error?.message.contains("Decimal") == true)
            }
            let updates: [Update<Priced>] = [
                .min(\.price, price), .max(\.discount, price), .pull(\.steps, price), .addToSet(\.steps, price),
                ["$inc": ["price": price]], ["$mul": ["price": Decimal(2)]],
            ]
            for update in updates {
                await expectError(.invalidQuery) { _ = try await goods.modify(id: "g1", update) }
            }
            try await #expect(goods.fetch(id: "g1") == changed)
            try await #expect(goods.find(\.discount != nil).count == 1)
            try await goods.modify(id: "g1", ["$set": ["price": Decimal(2)]])
        }
    }
}

@Suite("A key path")
struct KeyPathTests {
    @Test("means the member under its coding key, through members of members and optionals")
    func codingKeys() async throws {
        func path(_ filter: Filter<Album>) async throws -> String { try await HoldfastTests.path(filter) }
        try await #expect(path(\.title == "x") == "title")
        try await #expect(path(\.year == 1) == "released_in")
        try await #expect(path(\.plays == 1) == "plays")
        try await #expect(path(\.rating == 1) == "rating")
        try await #expect(path(\.isLive == true) == "live")
        try await #expect(path(\.isRare == true) == "isRare")
        try await #expect(path(\.genre == .jazz) == "genre")
        try await #expect(path(\.released == nil) == "released")
        try await #expect(path(\.label.name == "x") == "label.name")
        try await #expect(path(\.label.city == "x") == "label.town")
        try await #expect(path(\.formerLabel?.city == "x") == "formerLabel.town")
        try await #expect(path(\.formerLabel!.name == "x") == "formerLabel.name")
        try await #expect(path(.exists(\.formerLabel)) == "formerLabel")
        try await #expect(path(.contains(\.tags, "x")) == "tags")
        try await #expect(path(.contains(\.scores, 1)) == "scores")
        try await #expect(path(.exists(\.reviews)) == "reviews")
    }

    @Test("means what the repository's own encoder writes, values as well as names")
    func encoders() async throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        try await #expect(path(\Album.isRare == true, encoder: encoder) == "is_rare")
        try await #expect(path(\Album.formerLabel?.name == "x", encoder: encoder) == "former_label.name")
        try await #expect(
            json(\Album.released >= Date(timeIntervalSince1970: 0), encoder: encoder)
                == #"{"released":{"$gte":"1970-01-01T00:00:00Z"}}"#)
    }

    struct Everything: Codable, Identifiable, Sendable {
        struct Wrapper: Codable, Sendable { var only: Int }
        enum Level: Int, Codable, CaseIterable, Sendable {
            case low = 10
            case high = 20
        }
        struct Size: RawRepresentable, Codable, Sendable, Equatable { var rawValue: UInt8 }
        final class Node: Codable, Sendable {
            let value: Int
            let next: Node?
            init(value: Int) { (self.value, next) = (value, nil) }
        }

        enum Shape: Codable, Sendable, Equatable {
            case circle(radius: Double)
            case line(Double, to: Double)
            case none
        }
        enum Only: Codable, Sendable, Equatable { case one(Int) }
        indirect enum Tree: Codable, Sendable, Equatable {
            case node(Tree, Tree)
            case leaf(Int)
        }

        let id: UUID
        private(set) var first: Bool
        var second: Bool
        var third: Bool?
        var level: Level
        var size: Size
        var small: Int8
        var large: UInt64
        var real: Float
        var price: Decimal
        var link: URL
        var data: Data
        var set: Set<String>
        var map: [String: Int]
        var numbered: [Int: Bool]
        var pairs: [[Double]]
        var wrapper: Wrapper
        var node: Node
        var children: [Everything]
        var before: Int
        var shape: Shape
        var only: Only?
        var tree: Tree
        var shapes: [Shape]
        var after: Int
        var years: Range<Int>
        var days: ClosedRange<Date>
        var since: PartialRangeFrom<Int>
        var letters: Range<String>
        var language: Locale
        var zone: TimeZone
        var calendar: Calendar
    }

    @Test("is found whatever the types of the other members are")
    func types() async throws {
        func path(_ filter: Filter<Everything>) async throws -> String { try await HoldfastTests.path(filter) }
        try await #expect(path(\.first == true) == "first")
        try await #expect(path(\.second == true) == "second")
        try await #expect(path(\.third == true) == "third")
        try await #expect(path(\.id == UUID()) == "id")
        try await #expect(path(.in(\.level, [.low])) == "level")
        try await #expect(path(\.size == .init(rawValue: 1)) == "size")
        try await #expect(path(\.small == 1) == "small")
        try await #expect(path(\.large == 1) == "large")
        try await #expect(path(\.real == 1) == "real")
        try await #expect(path(.exists(\.price)) == "price")
        try await #expect(path(\.link == URL(string: "a:")!) == "link")
        try await #expect(path(\.data == Data()) == "data")
        try await #expect(path(.contains(\.set, "x")) == "set")
        try await #expect(path(\.map == [:]) == "map")
        try await #expect(path(.exists(\.numbered)) == "numbered")
        try await #expect(path(.contains(\.pairs, [1])) == "pairs")
        try await #expect(path(.exists(\.wrapper)) == "wrapper")
        try await #expect(path(\.wrapper.only == 1) == "wrapper.only")
        try await #expect(path(\.node.value == 1) == "node.value")
        try await #expect(path(.exists(\.children)) == "children")
        try await #expect(path(\.before == 1) == "before")
        try await #expect(path(\.shape == .circle(radius: 1)) == "shape")
        try await #expect(path(\.only == .one(1)) == "only")
        try await #expect(path(\.tree == .leaf(1)) == "tree")
        try await #expect(path(.contains(\.shapes, .none)) == "shapes")
        try await #expect(path(\.after == 1) == "after")
        try await #expect(path(\.years == 1990..<2000) == "years")
        try await #expect(path(\.days == Date.distantPast...Date.distantFuture) == "days")
        try await #expect(path(.exists(\.since)) == "since")
        try await #expect(path(\.letters == "a"..<"b") == "letters")
        try await #expect(path(\.language == Locale(identifier: "de")) == "language")
        try await #expect(path(.exists(\.zone)) == "zone")
        try await #expect(path(.exists(\.calendar)) == "calendar")
    }

    struct Country: Codable, Identifiable, Sendable {
        var code: String
        var size: Int
        var watched = 0 { didSet {} }
        var id: String { code }
        var half: Int { size / 2 }
        var capped: Int { min(size, 1_000_000) }

        enum CodingKeys: String, CodingKey {
            case code = "alpha_2"
            case size, watched
        }
    }

    @Test("that is computed is refused, except for the id, which is held against the repository's key")
    func computed() async throws {
        try await #expect(path(\Country.id == "DE", key: "alpha_2") == "alpha_2")
        for filter: Filter<Country> in [\.half == 1, \.capped == 1, \.watched == 1] {
            await expectError(.invalidQuery) { _ = try await json(filter, key: "alpha_2") }
        }
    }

    struct Peculiar: Codable, Identifiable, Sendable {
        struct Even: Codable, Sendable, Equatable {
            var number: Int
            init(number: Int) { self.number = number }
            init(from decoder: any Decoder) throws {
                number = try decoder.singleValueContainer().decode(Int.self)
                if number < 100 { throw Refusal() }
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(number)
            }
        }
        var id: String
        var dotted: Int
        var twice: Int
        var even: Even
        var alias: Int { dotted }

        enum CodingKeys: String, CodingKey {
            case id
            case dotted = "a.b"
            case twice, again, even
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(String.self, forKey: .id)
            dotted = try container.decode(Int.self, forKey: .dotted)
            twice = try container.decode(Int.self, forKey: .twice)
            even = try container.decode(Even.self, forKey: .even)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(dotted, forKey: .dotted)
            try container.encode(twice, forKey: .twice)
            try container.encode(twice, forKey: .again)
            try container.encode(even, forKey: .even)
        }
    }

    @Test("whose path cannot be seen for certain is refused, with the reason")
    func refusals() async throws {
        let dotted = await expectError(.invalidQuery) { _ = try await json(\Peculiar.dotted == 1) }
        #expect(dotted?.message.contains("a.b, because of the dot: give it another coding key") == true)
        let twice = await expectError(.invalidQuery) { _ = try await json(\Peculiar.twice == 1) }
        #expect(twice?.message.contains("again and twice are always equal") == true)
        let paths = "extension Peculiar: Queryable { static var paths: [PartialKeyPath<Peculiar>: String] {"
        #expect(twice?.message.contains(paths) == true)

        struct Year: Codable, Sendable, Equatable {
            var number: Int
            init(from decoder: any Decoder) throws {
                number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
                if number < 1900 { throw Refusal() }
            }
        }
        struct Strict: Codable, Identifiable, Sendable {
            var id: String
            var plays: Int
            var years: [Year]
        }
        let strict = await expectError(.invalidQuery) { _ = try await json(\Strict.plays == 1) }
        #expect(strict?.cause is Refusal)
        #expect(
            strict?.message.contains("extension Year: Queryable { static var samples: [Year] { [first, second] } }")
                == true)
    }

    @Test("is taken as a type declares it")
    func declared() async throws {
        try await #expect(path(\Peculiar.alias == 1) == "declared")
        try await #expect(path(\Peculiar.even == .init(number: 100)) == "even")
    }
}

extension KeyPathTests.Peculiar: Queryable {
    static var paths: [PartialKeyPath<Self>: String] { [\.alias: "declared"] }
}
extension KeyPathTests.Peculiar.Even: Queryable {
    static var samples: [Self] { [.init(number: 100), .init(number: 102)] }
}
