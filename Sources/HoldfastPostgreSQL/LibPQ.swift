internal import HoldfastEnvironment

/// PostgreSQL's own library for clients, loaded when the first store on a server is opened, so that nobody else needs it.
///
/// Only what is used here is declared, as `libpq-fe.h` of version 14, which brought the pipeline mode, has it.
struct LibPQ: Sendable {
    typealias Connection = OpaquePointer
    typealias Result = OpaquePointer
    typealias Text = UnsafeMutablePointer<CChar>
    typealias Names = UnsafePointer<UnsafePointer<CChar>?>
    typealias NoticeReceiver = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void

    let connectStart: @convention(c) (Names, Names, Int32) -> Connection?
    let connectPoll: @convention(c) (Connection) -> Int32
    let status: @convention(c) (Connection) -> Int32
    let settings: @convention(c) (Connection) -> UnsafeMutableRawPointer?
    let freeSettings: @convention(c) (UnsafeMutableRawPointer) -> Void
    let socket: @convention(c) (Connection) -> Int32
    let errorMessage: @convention(c) (Connection) -> Text?
    let serverVersion: @convention(c) (Connection) -> Int32
    let finish: @convention(c) (Connection) -> Void
    let setNonblocking: @convention(c) (Connection, Int32) -> Int32
    let setNoticeReceiver: @convention(c) (Connection, NoticeReceiver?, UnsafeMutableRawPointer?) -> NoticeReceiver?
    let enterPipelineMode: @convention(c) (Connection) -> Int32
    let pipelineSync: @convention(c) (Connection) -> Int32
    let sendQuery:
        @convention(c) (
            Connection, UnsafePointer<CChar>, Int32, UnsafePointer<UInt32>?, Names?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?, Int32
        ) -> Int32
    let sendPrepare:
        @convention(c) (Connection, UnsafePointer<CChar>, UnsafePointer<CChar>, Int32, UnsafePointer<UInt32>?) -> Int32
    let sendPrepared:
        @convention(c) (
            Connection, UnsafePointer<CChar>, Int32, Names?, UnsafePointer<Int32>?, UnsafePointer<Int32>?, Int32
        ) -> Int32
    let flush: @convention(c) (Connection) -> Int32
    let consumeInput: @convention(c) (Connection) -> Int32
    let isBusy: @convention(c) (Connection) -> Int32
    let getResult: @convention(c) (Connection) -> Result?
    let resultStatus: @convention(c) (Result) -> Int32
    let resultField: @convention(c) (Result, Int32) -> Text?
    let rowCount: @convention(c) (Result) -> Int32
    let isNull: @convention(c) (Result, Int32, Int32) -> Int32
    let length: @convention(c) (Result, Int32, Int32) -> Int32
    let value: @convention(c) (Result, Int32, Int32) -> Text?
    let commandStatus: @convention(c) (Result) -> Text?
    let affectedRows: @convention(c) (Result) -> Text?
    let clear: @convention(c) (Result) -> Void

    enum ConnectionStatus { static let ok: Int32 = 0 }

    enum Polling {
        static let failed: Int32 = 0
        static let reading: Int32 = 1
        static let ok: Int32 = 3
    }

    enum ResultStatus {
        static let commandOK: Int32 = 1
        static let tuplesOK: Int32 = 2
        static let pipelineSync: Int32 = 10
        static let pipelineAborted: Int32 = 11
    }

    enum Field {
        static let state = Int32(UInt8(ascii: "C"))
        static let message = Int32(UInt8(ascii: "M"))
    }

    /// The library; throws where it is missing.
    static func load() throws(HoldfastError) -> LibPQ { try loaded.get() }

    private static let names = ["libpq.so.5", "libpq.5.dylib"]

    private static let loaded = Swift.Result<LibPQ, HoldfastError> { () throws(HoldfastError) in
        for name in names {
            if let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) { return try LibPQ(library) }
        }
        throw HoldfastError(
            .cannotOpen,
            "\(names[0]), the library that speaks to PostgreSQL, is not installed: install it (Debian's libpq5)")
    }

    private init(_ library: UnsafeMutableRawPointer) throws(HoldfastError) {
        func find<Function>(_ name: String) throws(HoldfastError) -> Function {
            guard let address = dlsym(library, name) else {
                throw HoldfastError(
                    .cannotOpen,
                    "the installed \(Self.names[0]) has no \(name): install version 14 of it or a later one")
            }
            return unsafeBitCast(address, to: Function.self)
        }
        connectStart = try find("PQconnectStartParams")
        connectPoll = try find("PQconnectPoll")
        status = try find("PQstatus")
        settings = try find("PQconninfo")
        freeSettings = try find("PQconninfoFree")
        socket = try find("PQsocket")
        errorMessage = try find("PQerrorMessage")
        serverVersion = try find("PQserverVersion")
        finish = try find("PQfinish")
        setNonblocking = try find("PQsetnonblocking")
        setNoticeReceiver = try find("PQsetNoticeReceiver")
        enterPipelineMode = try find("PQenterPipelineMode")
        pipelineSync = try find("PQpipelineSync")
        sendQuery = try find("PQsendQueryParams")
        sendPrepare = try find("PQsendPrepare")
        sendPrepared = try find("PQsendQueryPrepared")
        flush = try find("PQflush")
        consumeInput = try find("PQconsumeInput")
        isBusy = try find("PQisBusy")
        getResult = try find("PQgetResult")
        resultStatus = try find("PQresultStatus")
        resultField = try find("PQresultErrorField")
        rowCount = try find("PQntuples")
        isNull = try find("PQgetisnull")
        length = try find("PQgetlength")
        value = try find("PQgetvalue")
        commandStatus = try find("PQcmdStatus")
        affectedRows = try find("PQcmdTuples")
        clear = try find("PQclear")
    }
}
