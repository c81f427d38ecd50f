package import HoldfastCore
public import HoldfastEnvironment
package import HoldfastQuery

/// What a controller has come to: its requests by their tokens, its saves and deletes by their ids, and three lanes that
/// show the latest of each. `controller.h` describes the JSON.
public struct ControllerState: Sendable {
    package struct RequestEntry: LedgerEntry {
        package enum Phase {
            case loading
            case received(position: String, elements: [Entity])
            case failed(error: [UInt8])
            case canceled
        }

        package var request: [UInt8]
        package var phase = Phase.loading

        package var hasEnded: Bool {
            switch phase {
            case .loading, .received: false
            case .failed, .canceled: true
            }
        }
    }

    package struct ProcessEntry: LedgerEntry {
        package enum Phase {
            case processing
            case succeeded(version: CommitSequence)
            case failed(error: [UInt8])
        }

        /// As it was given; once it is saved, as it is stored.
        package var element: [UInt8]
        package var phase = Phase.processing

        package var hasEnded: Bool { if case .processing = phase { false } else { true } }
    }

    package var requests = Ledger<RequestEntry>()
    package var saves = Ledger<ProcessEntry>()
    package var deletes = Ledger<ProcessEntry>()

    public init() {}

    /// An action or a state wraps what may be as deep as any store allows, and holds many of it.
    static let limits = PayloadLimits(maxBytes: .max, maxDepth: PayloadLimits.widest.maxDepth + 8)
}

// MARK: Writing

extension ControllerState {
    public var json: [UInt8] {
        JSONWriter.object { writer in
            writer.lane("request", "token", requests)
            writer.lane("persist", "id", saves)
            writer.lane("delete", "id", deletes)
            writer.map("requests", requests)
            writer.map("saves", saves)
            writer.map("deletes", deletes)
        }
    }
}

private protocol WrittenEntry: LedgerEntry {
    /// Its members, inside an object that the caller opens and closes.
    func write(to writer: inout JSONWriter)
}

extension JSONWriter {
    fileprivate mutating func lane(_ name: String, _ reference: String, _ ledger: Ledger<some WrittenEntry>) {
        member(name)
        beginObject()
        if let id = ledger.latest, let entry = ledger[id] {
            member(reference, utf8: id.bytes)
            entry.write(to: &self)
        } else {
            phase("initial")
        }
        endObject()
    }

    fileprivate mutating func map(_ name: String, _ ledger: Ledger<some WrittenEntry>) {
        member(name)
        beginObject()
        for (id, entry) in ledger.entries {
            member(utf8: id.bytes)
            beginObject()
            entry.write(to: &self)
            endObject()
        }
        endObject()
    }

    fileprivate mutating func phase(_ name: String) {
        member("state", name)
    }
}

extension ControllerState.RequestEntry: WrittenEntry {
    fileprivate func write(to writer: inout JSONWriter) {
        switch phase {
        case .loading: writer.phase("loading")
        case .received(let position, let elements):
            writer.phase("received")
            writer.member("position", position)
            writer.member("elements", each: elements) { writer, element in writer.raw(element.body) }
            writer.ids(of: elements)
            writer.member("versions", each: elements) { writer, element in writer.unsigned(element.version) }
        case .failed(let error):
            writer.phase("failed")
            writer.member("error", raw: error)
        case .canceled: writer.phase("canceled")
        }
        writer.member("request", raw: request)
    }
}

extension ControllerState.ProcessEntry: WrittenEntry {
    fileprivate func write(to writer: inout JSONWriter) {
        switch phase {
        case .processing: writer.phase("processing")
        case .succeeded(let version):
            writer.phase("succeeded")
            // What was deleted has none.
            if version > 0 { writer.member("version", version) }
        case .failed(let error):
            writer.phase("failed")
            writer.member("error", raw: error)
        }
        writer.member("element", raw: element)
    }
}

// MARK: Reading

extension ControllerState {
    /// Reads what `json` writes. No text, or an empty object, is the state at first. Of the lanes only what they refer to is
    /// read.
    public init(json: UnsafeRawBufferPointer?) throws(HoldfastError) {
        guard let json else { return }
        try JSONValue.check(json, what: "state", limits: Self.limits)
        var reader = try PayloadReader(json, what: "state")
        requests = try Self.ledger(&reader, "requests", lane: "request", "token", RequestEntry.init)
        saves = try Self.ledger(&reader, "saves", lane: "persist", "id", ProcessEntry.init)
        deletes = try Self.ledger(&reader, "deletes", lane: "delete", "id", ProcessEntry.init)
        try reader.finish()
    }

    private static func ledger<Entry: LedgerEntry>(
        _ reader: inout PayloadReader, _ name: String, lane: String, _ reference: String,
        _ read: (UnsafeRawBufferPointer) throws(HoldfastError) -> Entry
    ) throws(HoldfastError) -> Ledger<Entry> {
        var entries: [(id: EntityID, entry: Entry)] = []
        try reader.members(name) { id, text throws(HoldfastError) in entries.append((id, try read(text))) }
        var latest: EntityID?
        if let text = try reader.object(lane) {
            var lane = try PayloadReader(text, what: "state")
            latest = try lane.id(reference)
        }
        guard let ledger = Ledger(entries, latest: latest) else {
            throw HoldfastError(
                .invalidOption, "the lane \"\(lane)\" shows what \"\(name)\" does not have",
                detail: [("option", .text(lane))])
        }
        return ledger
    }
}

extension PayloadReader {
    fileprivate mutating func phase(_ names: [String]) throws(HoldfastError) -> String {
        _ = try required("state")
        return try options.text("state", oneOf: names)!
    }

    fileprivate mutating func error() throws(HoldfastError) -> [UInt8] {
        _ = try object("error")
        return try Array(asking: required("error"))
    }
}

extension ControllerState.RequestEntry {
    fileprivate init(_ text: UnsafeRawBufferPointer) throws(HoldfastError) {
        var reader = try PayloadReader(text, what: "state of a request")
        let phase = try reader.phase(["loading", "received", "failed", "canceled"])
        request =
            try reader.object("request").map { text throws(HoldfastError) in try Array(asking: text) }
            ?? Array("{}".utf8)
        switch phase {
        case "received":
            var texts: [[UInt8]] = []
            try reader.elements("elements") { text throws(HoldfastError) in texts.append(try Array(asking: text)) }
            self.phase = .received(
                position: try reader.options.text("position") ?? "",
                elements: try ResultChange.entities(texts, ids: reader.text("ids"), versions: reader.text("versions")))
        case "failed": self.phase = .failed(error: try reader.error())
        case "canceled": self.phase = .canceled
        default: self.phase = .loading
        }
        try reader.finish()
    }
}

extension ControllerState.ProcessEntry {
    fileprivate init(_ text: UnsafeRawBufferPointer) throws(HoldfastError) {
        var reader = try PayloadReader(text, what: "state of a save or delete")
        let phase = try reader.phase(["processing", "succeeded", "failed"])
        element = try Array(asking: reader.required("element"))
        switch phase {
        case "succeeded": self.phase = .succeeded(version: CommitSequence(try reader.count("version") ?? 0))
        case "failed": self.phase = .failed(error: try reader.error())
        default: self.phase = .processing
        }
        try reader.finish()
    }
}
