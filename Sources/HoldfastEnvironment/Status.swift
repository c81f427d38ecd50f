/// The outcome of a call. The numbers are those of `include/holdfast/status.h`, where each is
/// explained; a test holds the two lists against each other.
public enum Status: Int32, Sendable, CaseIterable {
    case ok = 0

    case invalidArgument = 1
    case invalidHandle = 2
    case invalidJSON = 3
    case invalidEntity = 4
    case invalidID = 5
    case invalidName = 6
    case invalidOption = 7
    case invalidQuery = 8
    case invalidURL = 9
    case invalidState = 10
    case unsupported = 11
    case versionUnsupported = 12

    case notFound = 20
    case exists = 21
    case versionMismatch = 22
    case keyReused = 23
    case corrupt = 24
    case uniqueViolation = 25

    case conflict = 30
    case busy = 31
    case timeout = 32
    case cancelled = 33
    case wouldDeadlock = 34
    case closed = 35
    case forked = 36
    case historyLost = 37

    case cannotOpen = 40
    case notAStore = 41
    case formatTooNew = 42
    case readOnly = 43
    case full = 44
    case io = 45
    case noMemory = 46
    case unsafeLocation = 47
    case schemaTooNew = 48
    case cursorLost = 49

    case transactionActive = 50
    case transactionNotActive = 51
    case wrongDescriptor = 52
    case cycle = 53
    case reentrant = 54
    case refused = 55

    case hostError = 60
    case `internal` = 61

    /// Whether the same call may succeed when made again, with nothing else changed by the caller.
    public var isRetryable: Bool { self == .conflict || self == .busy }
}
