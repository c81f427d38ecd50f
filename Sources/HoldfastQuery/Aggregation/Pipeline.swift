package import HoldfastEnvironment

/// A pipeline of aggregation, compiled: stages through which documents go one behind the other. `aggregate.h` describes the
/// language, a part of MongoDB's with its semantics; `PipelineReader` reads it.
public struct Pipeline: Sendable {
    /// Bounds the time of reading one, and of finding out in each piece which stage is next.
    package static let maxStages = 1000
    package static let stagesOption = "max_stages"
    /// Bounds the stack of whatever walks through a document: no stage answers one that is nested deeper.
    package static let maxDepth = 200
    /// Bounds the time and the memory of whatever walks through a document: no stage answers a longer one.
    package static let maxExtent = PayloadLimits.widest.maxBytes

    package var stages: [Stage]

    package struct Stage: Sendable {
        package let place: StagePlace
        package let operation: Operation
        /// What it looks at in the documents that come to it.
        package let reads: FieldUse

        package init(place: StagePlace, operation: Operation, reads: FieldUse) {
            self.place = place
            self.operation = operation
            self.reads = reads
        }
    }

    package enum Operation: Sendable {
        case match(Filter)
        /// `$expr` of a `$match`.
        case matchExpression(Expression)
        /// `$project`, `$set` and `$unset`.
        case project(Projector)
        /// `$group`, `$bucket` and the first half of `$sortByCount`.
        case group(Grouping)
        case sort([SortField])
        case limit(UInt64)
        case skip(UInt64)
        case unwind(Unwinding)
        case count(name: [UInt8])
        case lookup(Lookup)
        /// `$replaceRoot` and `$replaceWith`.
        case replaceRoot(Expression)
    }

    package struct SortField: Sendable, Equatable {
        package let path: Path
        package let descending: Bool
    }

    /// Entities of another repository, under a path of each document: those whose value at `foreign` is one of its own at
    /// `local`.
    package struct Lookup: Sendable {
        package let from: String
        package let local: Path
        package let foreign: Path
        /// Puts what was found where it is wanted.
        package let target: Projector
    }

    /// Reads a pipeline. `key` names the member that holds an entity's id. `parameters` are the values of `$param`: each
    /// must have one, and each value its parameter. `text` is asked what the text index is over where words are searched.
    package static func parse(
        _ bytes: UnsafeRawBufferPointer, key: String, parameters: [JSONValue.Member] = [],
        maxStages: Int = maxStages, limits: PayloadLimits = .standard,
        text: @escaping () throws(HoldfastError) -> TextDefinition? = { () throws(HoldfastError) in nil }
    ) throws(HoldfastError) -> Pipeline {
        let value = try JSONValue.parse(bytes, what: PipelineReader.what, limits: limits)
        var reader = PipelineReader(key: key, parameters: parameters, text: text)
        do throws(HoldfastError) {
            return try reader.pipeline(value, maxStages: maxStages)
        } catch {
            var error = error
            if let position = reader.position(in: bytes), !error.detail.contains(where: { $0.name == "position" }) {
                error.detail.append(("position", .number(position)))
            }
            throw error
        }
    }
}

/// Which stage something happens in, for messages.
package struct StagePlace: Sendable {
    /// In the pipeline as it was given, from 0 on.
    package let number: Int
    package let name: String

    package func refusal(
        _ reason: String, _ status: Status = .invalidQuery, path: String? = nil,
        option: String? = nil, limit: Int? = nil
    ) -> HoldfastError {
        let position = path.map { " at \"\($0)\"" } ?? ""
        var error = HoldfastError(
            status, "stage \(number) (\"\(name)\")\(position) of the pipeline \(reason)",
            detail: Operator.detail(name, location: path))
        if let option { error.detail.append(("option", .text(option))) }
        if let limit { error.detail.append(("limit", .number(UInt64(clamping: limit)))) }
        return located(error)
    }

    /// An error of something within the stage.
    package func located(_ error: HoldfastError) -> HoldfastError {
        var error = error
        if !error.detail.contains(where: { $0.name == "stage" }) {
            error.detail.append(("stage", .number(UInt64(number))))
        }
        return error
    }
}

/// The members of documents that something looks at: some, or whole documents.
package struct FieldUse: Sendable, Equatable {
    /// Nil for whole documents.
    package var names: Set<[UInt8]>?

    package static let all = FieldUse(names: nil)
    package static let nothing = FieldUse(names: [])

    package init(names: Set<[UInt8]>?) { self.names = names }

    package mutating func formUnion(_ other: FieldUse) {
        guard let names, let others = other.names else {
            self = .all
            return
        }
        self.names = names.union(others)
    }

    package mutating func insert(_ name: [UInt8]) { names?.insert(name) }

    /// What an expression, not yet compiled, looks at; perhaps more.
    package mutating func insert(expression value: JSONValue) {
        switch value {
        case .string(let text) where text.first == UInt8(ascii: "$"):
            let name = Array(text.dropFirst().prefix { $0 != UInt8(ascii: ".") })
            guard name.first == UInt8(ascii: "$") else { return insert(name) }
            // A variable has what some expression has given it, but for those that stand for the document.
            if name.elementsEqual("$ROOT".utf8) || name.elementsEqual("$CURRENT".utf8) { self = .all }
        case .array(let elements): for element in elements { insert(expression: element) }
        case .object(let members):
            for member in members {
                // It names a member without a sign.
                if member.name.elementsEqual("$getField".utf8) { self = .all }
                insert(expression: member.value)
            }
        default: break
        }
    }
}

extension Expression {
    /// As a condition.
    package func holds(for document: JSONValue) throws(HoldfastError) -> Bool { try evaluate(document).isTrue }
}

extension Filter {
    /// The members of documents that it looks at.
    package var reads: FieldUse {
        var use = FieldUse.nothing
        root.collect(&use)
        return use
    }

    /// Both of them.
    package func and(_ other: Filter) -> Filter {
        if isAll { return other }
        if other.isAll { return self }
        // As flat as the root is, whatever is brought together.
        var sources: [JSONValue] = []
        for source in [source, other.source] {
            if case .object(let members) = source, members.count == 1, members[0].name.elementsEqual("$and".utf8),
                case .array(let conditions) = members[0].value
            {
                sources += conditions
            } else {
                sources.append(source)
            }
        }
        let source = JSONValue.object([JSONValue.Member(name: Array("$and".utf8), value: .array(sources))])
        return Filter(root: .conjunction([root, other.root]), source: source)
    }
}

extension Filter.Node {
    fileprivate func collect(_ use: inout FieldUse) {
        switch self {
        case .all(let nodes), .any(let nodes), .none(let nodes): for node in nodes { node.collect(&use) }
        case .path(let path, _):
            if let part = path.parts.first { use.insert(part.name) } else { use = .all }
        case .text: use = .all
        case .unbound: break
        }
    }
}
