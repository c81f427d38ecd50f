public import HoldfastCore
public import HoldfastEnvironment
internal import HoldfastQuery
public import HoldfastStorage

/// What an operator of a store needs, as `maintenance.h` describes it.
extension Store {
    /// Copies the newest committed state into a new file. Answers {"path","sequence","bytes"}.
    public func backUp(to path: String, _ progress: Progress) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        var bytes: UInt64 = 0
        let sequence = try storage.backUp(to: path) { done, total throws(HoldfastError) in
            bytes = total
            return try report(progress, done, total)
        }
        diagnostics.info(
            "store backed up", [("path", .text(path)), ("sequence", .number(sequence)), ("bytes", .number(bytes))])
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("path")
        writer.string(path)
        writer.member("sequence")
        writer.unsigned(sequence)
        writer.member("bytes")
        writer.unsigned(bytes)
        writer.endObject()
        return writer.bytes
    }

    /// Gives unused space back while nobody commits. Answers {"bytes_before","bytes_after"}.
    public func compact() throws(HoldfastError) -> [UInt8] {
        try requireWritable()
        let end = Interrupt.Flag()
        func stop() -> Bool {
            defer { storage.stopCompacting(end) }
            return end.set()
        }
        let (before, after) = try Interrupt.whileAsking(environment.limits, stop: stop) {
            [queue] () throws(HoldfastError) in try queue.compact(unless: end)
        }
        diagnostics.info("store compacted", [("bytes_before", .number(before)), ("bytes_after", .number(after))])
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("bytes_before")
        writer.unsigned(before)
        writer.member("bytes_after")
        writer.unsigned(after)
        writer.endObject()
        return writer.bytes
    }

    /// Checks the engine's files, every entity and every index.
    public func verify(_ progress: Progress) throws(HoldfastError) -> [UInt8] {
        try requireOpen()
        try refreshCatalogue()
        let problems = try storage.problems()
        var reports: [RepositoryReport] = []
        var entities: UInt64 = 0
        for record in catalogue.all {
            let report = try RepositoryReport(of: Repository(store: self, record: record)) {
                done throws(HoldfastError) in
                try self.report(progress, entities + done, 0)
            }
            entities += report.entities
            reports.append(report)
        }
        let isOK = problems.isEmpty && reports.allSatisfy(\.isOK)
        if !isOK { diagnostics.error("the store was verified and is damaged") }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("ok")
        writer.boolean(isOK)
        writer.member("problems")
        writer.beginArray()
        for problem in problems { writer.string(problem) }
        writer.endArray()
        writer.member("repositories")
        writer.beginArray()
        for report in reports { report.write(to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// The host's code runs here, and may have forked.
    func report(_ progress: Progress, _ done: UInt64, _ total: UInt64) throws(HoldfastError) -> Bool {
        let goesOn = try progress(done, total)
        try requireSameProcess()
        return goesOn
    }

    static func cancelled(_ what: String) -> HoldfastError {
        HoldfastError(.cancelled, "\(what): the progress callback said to stop")
    }
}
