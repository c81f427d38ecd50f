internal import HoldfastEnvironment

/// A date, as entities keep it: a text in the form of ISO 8601, "2024-05-06" or "2024-05-06T07:08:09.123456Z".
///
/// Between day and time stands "T" or a space; seconds and their fraction, of up to nine digits, may be left out, and so may
/// the offset from UTC, "Z" or "+02:00", for which UTC is taken. What is made of a date has its form.
struct DateText {
    /// Since 1970-01-01T00:00:00Z.
    var seconds: Int64
    var nanoseconds: Int64
    private let form: Form

    private struct Form {
        var isDay = true
        var separator = UInt8(ascii: "T")
        var fractionDigits = 0
        var offset: Offset = .none
    }

    private enum Offset: Equatable {
        case none
        case letter
        case seconds(Int64)
    }

    /// The offset that the text itself has.
    var offset: Int64 {
        if case .seconds(let seconds) = form.offset { return seconds }
        return 0
    }

    static let secondsOfDay: Int64 = 86_400

    // MARK: Reading

    /// Nil where the text is no date.
    init?(_ text: [UInt8]) {
        var reader = DigitReader(text)
        guard let year = reader.number(4), year > 0, reader.take("-"), let month = reader.number(2), 1...12 ~= month,
            reader.take("-"), let day = reader.number(2), day >= 1,
            day <= CalendarDate.days(inMonth: month, of: year)
        else { return nil }
        seconds = CalendarDate(year: year, month: month, day: day).days * Self.secondsOfDay
        nanoseconds = 0
        var form = Form()
        if !reader.isAtEnd {
            form.isDay = false
            form.separator = reader.next
            guard reader.take("T") || reader.take(" "), let hour = reader.number(2), hour < 24, reader.take(":"),
                let minute = reader.number(2), minute < 60
            else { return nil }
            seconds += hour * 3600 + minute * 60
            if reader.take(":") {
                guard let second = reader.number(2), second < 60 else { return nil }
                seconds += second
                if reader.take(".") {
                    guard let fraction = reader.fraction() else { return nil }
                    (nanoseconds, form.fractionDigits) = fraction
                }
            }
            guard let offset = Self.offset(&reader) else { return nil }
            form.offset = offset
            if case .seconds(let offset) = offset { seconds -= offset }
        }
        self.form = form
        guard reader.isAtEnd, Self.allowed ~= seconds else { return nil }
    }

    /// From the year 1 to 9999, and as far as offsets reach beyond.
    static let allowed =
        CalendarDate(year: 1, month: 1, day: 1).days * secondsOfDay..<CalendarDate(year: 10_000, month: 1, day: 1).days
        * secondsOfDay

    private static func offset(_ reader: inout DigitReader) -> Offset? {
        if reader.isAtEnd { return Offset.none }
        if reader.take("Z") { return .letter }
        let isNegative = reader.next == UInt8(ascii: "-")
        guard reader.take("+") || reader.take("-"), let hours = reader.number(2), hours < 24 else { return nil }
        var seconds = hours * 3600
        if !reader.isAtEnd {
            _ = reader.take(":")
            guard let minutes = reader.number(2), minutes < 60 else { return nil }
            seconds += minutes * 60
        }
        return .seconds(isNegative ? -seconds : seconds)
    }

    /// The offset in seconds that is named so: "UTC", "GMT", "Z" or "+02:00".
    static func offset(named name: [UInt8]) -> Int64? {
        if name.elementsEqual("UTC".utf8) || name.elementsEqual("GMT".utf8) { return 0 }
        var reader = DigitReader(name)
        switch offset(&reader) {
        case .letter? where reader.isAtEnd: return 0
        case .seconds(let seconds)? where reader.isAtEnd: return seconds
        default: return nil
        }
    }

    // MARK: Writing

    /// In the form of the text that it was read from; a day that has got a time becomes one with a time.
    var text: [UInt8] {
        let local = seconds + offset
        let time = local.remainderDown(by: Self.secondsOfDay)
        var writer = DigitWriter()
        writer.date(CalendarDate(days: local.dividedDown(by: Self.secondsOfDay)))
        if form.isDay, time == 0, nanoseconds == 0 { return writer.bytes }
        writer.bytes.append(form.separator)
        writer.time(time, separator: ":")
        var digits = form.fractionDigits
        while digits < 9, nanoseconds % Self.unit(ofDigits: digits) != 0 { digits += 3 - digits % 3 }
        if digits > 0 {
            writer.bytes.append(UInt8(ascii: "."))
            writer.number(nanoseconds / Self.unit(ofDigits: digits), digits)
        }
        switch form.offset {
        case .none: break
        case .letter: writer.bytes.append(UInt8(ascii: "Z"))
        case .seconds(let seconds): writer.offset(seconds, separator: ":")
        }
        return writer.bytes
    }

    /// The nanoseconds that so many digits of a fraction can tell apart.
    private static func unit(ofDigits digits: Int) -> Int64 { (digits..<9).reduce(1) { unit, _ in unit * 10 } }
}

/// Reads digits and single characters.
private struct DigitReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: [UInt8]) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }
    /// 0 at the end.
    var next: UInt8 { rest.first ?? 0 }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int64? {
        guard rest.count >= count, rest.prefix(count).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let number = rest.prefix(count).reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        rest.removeFirst(count)
        return number
    }

    /// As many digits as there are, of up to nine, as nanoseconds.
    mutating func fraction() -> (nanoseconds: Int64, digits: Int)? {
        let digits = rest.prefix { (0x30...0x39).contains($0) }.count
        guard 1...9 ~= digits, let number = number(digits) else { return nil }
        return ((digits..<9).reduce(number) { number, _ in number * 10 }, digits)
    }
}

/// Writes numbers of fixed widths.
struct DigitWriter {
    var bytes: [UInt8] = []

    mutating func number(_ number: Int64, _ width: Int) {
        let digits = Array(String(number.magnitude).utf8)
        bytes += [UInt8](repeating: UInt8(ascii: "0"), count: max(0, width - digits.count)) + digits
    }

    mutating func date(_ date: CalendarDate) {
        number(date.year, 4)
        bytes.append(UInt8(ascii: "-"))
        number(date.month, 2)
        bytes.append(UInt8(ascii: "-"))
        number(date.day, 2)
    }

    mutating func time(_ seconds: Int64, separator: Unicode.Scalar) {
        number(seconds / 3600, 2)
        bytes.append(UInt8(ascii: separator))
        number(seconds / 60 % 60, 2)
        bytes.append(UInt8(ascii: separator))
        number(seconds % 60, 2)
    }

    /// `+02:00`, or without a separator `+0200`.
    mutating func offset(_ seconds: Int64, separator: Unicode.Scalar?) {
        bytes.append(UInt8(ascii: seconds < 0 ? "-" : "+"))
        number(abs(seconds) / 3600, 2)
        if let separator { bytes.append(UInt8(ascii: separator)) }
        number(abs(seconds) / 60 % 60, 2)
    }
}
