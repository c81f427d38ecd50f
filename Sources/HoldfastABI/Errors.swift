public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// What an `hf_error` stands for. Its texts have addresses that last as long as it does.
final class ErrorObject: @unchecked Sendable {
    // Sendable: immutable; the texts are only read.
    let error: HoldfastError
    let message: UnsafeMutablePointer<CChar>
    let detail: UnsafeMutablePointer<CChar>
    let detailLength: Int

    init(_ error: HoldfastError) {
        self.error = error
        message = Self.text(Array(error.message.utf8))
        let json = error.detailJSON
        detail = Self.text(json)
        detailLength = json.count
    }

    deinit {
        message.deallocate()
        detail.deallocate()
    }

    private static func text(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar> {
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { text[index] = CChar(bitPattern: byte) }
        text[bytes.count] = 0
        return text
    }
}

public typealias OutError = UnsafeMutablePointer<OpaquePointer?>

extension hf_status {
    // An open C enumeration takes every number, so its initialiser never answers nil.
    init(_ status: Status) { self.init(rawValue: UInt32(status.rawValue))! }
}

/// The one funnel: runs the body of an export, and turns what it throws into a status and an error object.
func answer(_ outError: OutError?, _ body: () throws(HoldfastError) -> Void) -> hf_status {
    answerStatus(outError) { () throws(HoldfastError) in
        try body()
        return hf_status.HF_OK
    }
}

/// As `answer`, and puts what it answers where the caller wants it, who cannot do without it.
func answer<Value: ResultValue>(
    _ result: UnsafeMutablePointer<Value.Place>?, _ name: StaticString, _ outError: OutError?,
    _ body: () throws(HoldfastError) -> Value
) -> hf_status {
    answer(outError) { () throws(HoldfastError) in
        let result = try required(result, name)
        try body().put(in: result)
    }
}

/// As `answer`, with what a handle stands for.
func answer<Object: HandleObject>(
    _ handle: OpaquePointer?, _ outError: OutError?, _ body: (Object) throws(HoldfastError) -> Void
) -> hf_status {
    answer(outError) { () throws(HoldfastError) in try HandleTable.use(handle, body) }
}

func answer<Object: HandleObject, Value: ResultValue>(
    _ handle: OpaquePointer?, _ result: UnsafeMutablePointer<Value.Place>?, _ name: StaticString,
    _ outError: OutError?, _ body: (Object) throws(HoldfastError) -> Value
) -> hf_status {
    answer(result, name, outError) { () throws(HoldfastError) in try HandleTable.use(handle, body) }
}

/// As `answer`, for bodies with answers of their own that are no errors. `alsoInside`: they wait for no lock that the call in
/// which the host is asked may have.
func answerStatus(
    _ outError: OutError?, alsoInside: Bool = false, _ body: () throws(HoldfastError) -> hf_status
) -> hf_status {
    outError?.pointee = nil
    do throws(HoldfastError) {
        if Interrupt.isAskedInside && !alsoInside { throw Interrupt.inside }
        return try body()
    } catch {
        if let outError { outError.pointee = errorHandle(error) }
        return hf_status(error.status)
    }
}

/// NULL only when there are no handles left.
func errorHandle(_ error: HoldfastError) -> OpaquePointer? { try? HandleTable.insert(ErrorObject(error)) }

/// A failure that the host's code has told by a status. `lead` begins the message. A number that is no status stands for
/// `unknown`.
func hostError(_ status: hf_status, _ lead: String, unknown: Status = .hostError) -> HoldfastError {
    guard let known = Status(rawValue: Int32(bitPattern: status.rawValue)) else {
        return HoldfastError(
            unknown, "\(lead) \(status.rawValue), which is no status",
            detail: [("code", .number(UInt64(status.rawValue)))])
    }
    return HoldfastError(known, "\(lead) \(known.name)")
}

/// Throws what a function of the host's has failed with: the error that it handed over, which is the library's from here
/// on, or else one that `hostError` makes. The status counts that it answered; where that is none, `unknown`, or else the
/// error's own.
func accept(
    _ status: hf_status, _ error: OpaquePointer?, _ lead: @autoclosure () -> String, unknown: Status? = nil
) throws(HoldfastError) {
    let own = taken(error)
    if status == hf_status.HF_OK { return }
    guard var own else { throw hostError(status, lead(), unknown: unknown ?? .hostError) }
    own.status = Status(rawValue: Int32(bitPattern: status.rawValue)) ?? unknown ?? own.status
    // It may tell of a commit elsewhere, which says nothing of the one that this failure ends.
    own.commitState = .none
    throw own
}

/// An error that the host has handed over, which is the library's from here on; nil for none.
func taken(_ error: OpaquePointer?) -> HoldfastError? { HandleTable.remove(error, as: ErrorObject.self)?.error }

private func read<Result>(
    _ error: OpaquePointer?, else fallback: @autoclosure () -> Result, _ body: (ErrorObject) -> Result
) -> Result {
    read(error, failing: { _ in fallback() }, body)
}

/// `failing` hears why there is no such error: `.invalidArgument` for NULL, `.invalidHandle` or `.forked`.
private func read<Result>(
    _ error: OpaquePointer?, failing: (Status) -> Result, _ body: (ErrorObject) -> Result
) -> Result {
    do throws(HoldfastError) {
        return try HandleTable.use(error) { (object: ErrorObject) throws(HoldfastError) in body(object) }
    } catch {
        return failing(error.status)
    }
}

@_cdecl("hf_error_status") @implementation
public func hf_error_status(_ error: OpaquePointer?) -> hf_status {
    read(error, failing: { $0 == .forked ? hf_status.HF_FORKED : hf_status.HF_INVALID_HANDLE }) {
        hf_status($0.error.status)
    }
}

@_cdecl("hf_error_message") @implementation
public func hf_error_message(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    read(
        error,
        failing: {
            $0 == .forked
                ? constantText("the error belongs to the process that forked this one")
                : constantText("the error is NULL or was freed")
        }
    ) { UnsafePointer($0.message) }
}

@_cdecl("hf_error_is_retryable") @implementation
public func hf_error_is_retryable(_ error: OpaquePointer?) -> Bool {
    read(error, else: false) { $0.error.isRetryable }
}

@_cdecl("hf_error_commit_state") @implementation
public func hf_error_commit_state(_ error: OpaquePointer?) -> hf_commit_state {
    read(error, else: hf_commit_state.HF_COMMIT_NONE) {
        hf_commit_state(rawValue: UInt32($0.error.commitState.rawValue))!
    }
}

@_cdecl("hf_error_detail") @implementation
public func hf_error_detail(_ error: OpaquePointer?, _ out_length: UnsafeMutablePointer<Int>?) -> UnsafePointer<CChar>?
{
    let (text, length) = read(error, else: (constantText("{}"), 2)) { (UnsafePointer($0.detail), $0.detailLength) }
    out_length?.pointee = length
    return text
}

@_cdecl("hf_error_cause") @implementation
public func hf_error_cause(_ error: OpaquePointer?) -> OpaquePointer? {
    read(error, else: nil) { $0.error.cause.flatMap { errorHandle($0.error) } }
}

@_cdecl("hf_error_create") @implementation
public func hf_error_create(_ status: hf_status, _ code: Int64, _ message: UnsafePointer<CChar>?) -> OpaquePointer? {
    let known = Int32(exactly: status.rawValue).flatMap(Status.init(rawValue:))
    if let message, (try? Memory.ask(for: 3 * strlen(message))) == nil { return nil }
    return errorHandle(
        HoldfastError(
            known == .ok ? .hostError : known ?? .hostError, message.map { String(cString: $0) } ?? "",
            detail: [("code", .json(Array(String(code).utf8)))]))
}

@_cdecl("hf_error_free") @implementation
public func hf_error_free(_ error: OpaquePointer?) {
    _ = HandleTable.remove(error, as: ErrorObject.self)
}

@_cdecl("hf_status_name") @implementation
public func hf_status_name(_ status: hf_status) -> UnsafePointer<CChar>? {
    constantText(Int32(exactly: status.rawValue).flatMap(Status.init(rawValue:))?.name ?? "HF_UNKNOWN")
}

/// A literal's address, which lasts as long as the library is loaded.
func constantText(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
