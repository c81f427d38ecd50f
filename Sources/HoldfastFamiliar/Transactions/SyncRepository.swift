/// A collection of elements whose calls block the thread, as reading a file does, and which gives the same calls as
/// transactions, to be run now or later, here or elsewhere.
///
///     try people.add(element: person)
///     let transaction: AnyTransaction<Person> = people.add(person)     // nothing has happened yet
///     let stored = try await transaction.performAsync()
///
/// A type that keeps its elements in its own way implements the calls up to `deleteAll`; the others come with them.
/// All throw `RepositoryError`, and what a caller's own function throws unchanged. Reads tell of failures too: nothing
/// is left out silently.
public protocol SyncRepository<Element>: Sendable {
    /// What it keeps.
    associatedtype Element: Identifiable & Sendable

    /// Every element, in an order that stays.
    var getAll: [Element] { get throws }
    /// Stores a new element and answers it as it is stored. Throws `.duplicatedData` when there is one of its id.
    @discardableResult
    func add(element: Element) throws -> Element
    /// Replaces the element of the same id and answers it as it is stored. Throws `.nonExistingData`.
    @discardableResult
    func update(element: Element) throws -> Element
    /// Deletes the element of the same id. Throws `.nonExistingData`.
    func delete(element: Element) throws
    /// Deletes every element; there may be none.
    func deleteAll() throws

    /// The elements for which `query` answers true.
    func filter(query: (Element) throws -> Bool) throws -> [Element]
    /// The first for which it answers true, or nil.
    func first(where condition: (Element) throws -> Bool) throws -> Element?
    /// Whether there is one for which it answers true.
    func contains(condition: (Element) throws -> Bool) throws -> Bool
    /// Whether there is an element of the same id.
    func contains(element: Element) throws -> Bool
    /// Whether there are no elements.
    var isEmpty: Bool { get throws }

    // As transactions. Making one reads, locks and checks nothing: what is to be refused is when it is performed.

    /// `add(element:)`, to be performed.
    func add(_ element: Element) -> AnyTransaction<Element>
    /// `update(element:)`, to be performed.
    func update(_ element: Element) -> AnyTransaction<Element>
    /// `delete(element:)`, to be performed.
    func delete(_ element: Element) -> AnyTransaction<Void>
    /// `filter(query:)`, to be performed; without a condition `getAll`.
    func fetch(where condition: (@Sendable (Element) throws -> Bool)?) -> AnyTransaction<[Element]>
    /// `first(where:)`, to be performed.
    func first(where condition: @escaping @Sendable (Element) throws -> Bool) -> AnyTransaction<Element?>
}

extension SyncRepository {
    public func filter(query: (Element) throws -> Bool) throws -> [Element] { try getAll.filter(query) }

    public func first(where condition: (Element) throws -> Bool) throws -> Element? {
        try getAll.first(where: condition)
    }

    public func contains(condition: (Element) throws -> Bool) throws -> Bool { try getAll.contains(where: condition) }

    public func contains(element: Element) throws -> Bool { try getAll.contains { $0.id == element.id } }

    public var isEmpty: Bool { get throws { try getAll.isEmpty } }

    public func add(_ element: Element) -> AnyTransaction<Element> { AnyTransaction { try add(element: element) } }

    public func update(_ element: Element) -> AnyTransaction<Element> {
        AnyTransaction { try update(element: element) }
    }

    public func delete(_ element: Element) -> AnyTransaction<Void> { AnyTransaction { try delete(element: element) } }

    public func fetch(where condition: (@Sendable (Element) throws -> Bool)?) -> AnyTransaction<[Element]> {
        AnyTransaction { if let condition { try filter(query: condition) } else { try getAll } }
    }

    // A call whose type nothing says means the one that answers at once.
    @_disfavoredOverload
    public func first(where condition: @escaping @Sendable (Element) throws -> Bool) -> AnyTransaction<Element?> {
        AnyTransaction { try first(where: condition) }
    }

    /// This repository, without its type.
    public func eraseToAnyRepository() -> AnyRepository<Element> { AnyRepository(self) }
}

/// A repository without its type: whoever keeps the elements.
public struct AnyRepository<Element: Identifiable & Sendable>: SyncRepository {
    private let repository: any SyncRepository<Element>

    /// Another repository, without its type.
    public init(_ repository: some SyncRepository<Element>) {
        self.repository = (repository as? AnyRepository<Element>)?.repository ?? repository
    }

    public var getAll: [Element] { get throws { try repository.getAll } }
    @discardableResult
    public func add(element: Element) throws -> Element { try repository.add(element: element) }
    @discardableResult
    public func update(element: Element) throws -> Element { try repository.update(element: element) }
    public func delete(element: Element) throws { try repository.delete(element: element) }
    public func deleteAll() throws { try repository.deleteAll() }
    public func filter(query: (Element) throws -> Bool) throws -> [Element] { try repository.filter(query: query) }
    public func first(where condition: (Element) throws -> Bool) throws -> Element? {
        try repository.first(where: condition)
    }
    public func contains(condition: (Element) throws -> Bool) throws -> Bool {
        try repository.contains(condition: condition)
    }
    public func contains(element: Element) throws -> Bool { try repository.contains(element: element) }
    public var isEmpty: Bool { get throws { try repository.isEmpty } }
    public func add(_ element: Element) -> AnyTransaction<Element> { repository.add(element) }
    public func update(_ element: Element) -> AnyTransaction<Element> { repository.update(element) }
    public func delete(_ element: Element) -> AnyTransaction<Void> { repository.delete(element) }
    public func fetch(where condition: (@Sendable (Element) throws -> Bool)?) -> AnyTransaction<[Element]> {
        repository.fetch(where: condition)
    }
    @_disfavoredOverload
    public func first(where condition: @escaping @Sendable (Element) throws -> Bool) -> AnyTransaction<Element?> {
        repository.first(where: condition)
    }
}
