internal import HoldfastEnvironment

/// The definitions of text indexes that were understood last. Every query asks for those of its repository, and one may have
/// 10,000 stop words.
enum UnderstoodTexts {
    private static let capacity = 8
    private static let definitions = Lock<[(json: [UInt8], definition: IndexDefinition)]>([])

    static func definition(_ json: [UInt8]) -> IndexDefinition? {
        definitions.withLock { definitions in definitions.first { $0.json == json }?.definition }
    }

    static func add(_ json: [UInt8], _ definition: IndexDefinition) {
        definitions.withLock { definitions in
            if definitions.count == capacity { definitions.removeFirst() }
            definitions.append((json, definition))
        }
    }
}
