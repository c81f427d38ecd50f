import HoldfastEnvironment
import HoldfastQuery
import SeededRandom
import Testing

@Suite("Dates in expressions")
struct DateTests {
    private let document =
        #"{"d":"2024-02-29T23:30:15.123456Z","day":"2024-12-30","local":"2024-03-01T01:30:00+02:00"}"#

    @Test(
        "Parts are those in UTC, or at an offset",
        arguments: [
            (#"{"$year":"$d"}"#, "2024"), (#"{"$month":"$d"}"#, "2"), (#"{"$dayOfMonth":"$d"}"#, "29"),
            (#"{"$hour":"$d"}"#, "23"), (#"{"$minute":"$d"}"#, "30"), (#"{"$second":"$d"}"#, "15"),
            (#"{"$millisecond":"$d"}"#, "123"), (#"{"$dayOfWeek":"$d"}"#, "5"), (#"{"$dayOfYear":"$d"}"#, "60"),
            (#"{"$week":"$d"}"#, "8"), (#"{"$isoWeek":"$day"}"#, "1"), (#"{"$isoWeekYear":"$day"}"#, "2025"),
            (#"{"$isoDayOfWeek":"$day"}"#, "1"), (#"{"$dayOfMonth":"$local"}"#, "29"), (#"{"$hour":["$local"]}"#, "23"),
            (#"{"$dayOfMonth":{"date":"$d","timezone":"+01:00"}}"#, "1"), (#"{"$year":"$missing"}"#, "null"),
            (#"{"$year":{"date":"$d","timezone":"$missing"}}"#, "null"), (#"{"$hour":"$day"}"#, "0"),
        ])
    func parts(expression: String, expected: String) throws {
        #expect(try evaluated(expression, of: document) == expected)
    }

    @Test(
        "A new date has the form of the one that it is made of",
        arguments: [
            (#"{"$dateTrunc":{"date":"$d","unit":"hour"}}"#, "2024-02-29T23:00:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$d","unit":"month"}}"#, "2024-02-01T00:00:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$d","unit":"quarter"}}"#, "2024-01-01T00:00:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$d","unit":"week"}}"#, "2024-02-25T00:00:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$d","unit":"week","startOfWeek":"mon"}}"#, "2024-02-26T00:00:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$d","unit":"minute","binSize":25}}"#, "2024-02-29T23:20:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$day","unit":"year"}}"#, "2024-01-01"),
            (#"{"$dateTrunc":{"date":"$d","unit":"day","timezone":"+01:00"}}"#, "2024-02-29T23:00:00.000000Z"),
            (#"{"$dateTrunc":{"date":"$local","unit":"day","timezone":"+02:00"}}"#, "2024-03-01T00:00:00+02:00"),
            (#"{"$dateAdd":{"startDate":"$d","unit":"year","amount":1}}"#, "2025-02-28T23:30:15.123456Z"),
            (#"{"$dateAdd":{"startDate":"$day","unit":"month","amount":2}}"#, "2025-02-28"),
            (#"{"$dateAdd":{"startDate":"$day","unit":"hour","amount":1}}"#, "2024-12-30T01:00:00"),
            (#"{"$dateSubtract":{"startDate":"$local","unit":"minute","amount":90}}"#, "2024-03-01T00:00:00+02:00"),
            (#"{"$dateAdd":{"startDate":"$local","unit":"millisecond","amount":1}}"#, "2024-03-01T01:30:00.001+02:00"),
            (#"{"$dateToString":{"date":"$d"}}"#, "2024-02-29T23:30:15.123Z"),
            (
                #"{"$dateToString":{"date":"$d","format":"%d.%m.%Y %H:%M %j %G-%V %%"}}"#,
                "29.02.2024 23:30 060 2024-09 %"
            ),
            (#"{"$dateToString":{"date":"$d","format":"%B %b %z","timezone":"-0330"}}"#, "February Feb -0330"),
            (#"{"$dateToString":{"date":null,"onNull":"never"}}"#, "never"),
        ])
    func newDates(expression: String, expected: String) throws {
        #expect(try evaluated(expression, of: document) == "\"\(expected)\"")
    }

    @Test(
        "A difference counts the beginnings of units",
        arguments: [
            ("year", "1"), ("quarter", "1"), ("month", "1"), ("week", "0"), ("day", "1"), ("hour", "1"),
            ("minute", "1"),
            ("second", "1"), ("millisecond", "1"),
        ])
    func differences(unit: String, expected: String) throws {
        let dates = #""startDate":"2024-12-31T23:59:59.999Z","endDate":"2025-01-01T00:00:00Z""#
        #expect(try evaluated(#"{"$dateDiff":{\#(dates),"unit":"\#(unit)"}}"#) == expected)
    }

    @Test(
        "What is no date, and what leaves the calendar, is refused",
        arguments: [
            "2024-02-30", "2023-02-29", "2024-13-01", "24-01-01", "2024-01-01T24:00:00", "2024-01-01T00:60",
            "2024-01-01T",
            "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00z", "2024-01-01T00:00:00+24:00", "0000-01-01", "2024-01-01 ",
            "0001-01-01T00:00:00+01:00",
        ])
    func noDates(text: String) throws {
        #expect(try refusal(of: #"{"$year":"\#(text)"}"#).message.contains("ISO 8601"))
    }

    @Test("Dates beyond the calendar are refused, however far")
    func beyondTheCalendar() throws {
        for amount in ["1", "400000000000000", "9223372036854775807"] {
            for unit in ["day", "year", "week", "millisecond"] {
                let add = #"{"$dateAdd":{"startDate":"9999-12-31T23:59:59.999","unit":"\#(unit)","amount":\#(amount)}}"#
                #expect(try refusal(of: add).message.contains("years 1 to 9999"))
            }
        }
        #expect(
            try evaluated(#"{"$dateSubtract":{"startDate":"0001-01-02","unit":"day","amount":1}}"#) == "\"0001-01-01\"")
    }

    @Test("Adding days counts them, over all the calendar's days", arguments: Seeds.of(100))
    func daysAreCounted(seed: UInt64) throws {
        var samples = JSONSamples(seed: seed)
        var date = (year: 1 + samples.below(9000), month: 1 + samples.below(12), day: 1)
        func text() -> String {
            func padded(_ number: Int, _ width: Int) -> String {
                String(repeating: "0", count: width - String(number).count) + String(number)
            }
            return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
        }
        let start = text()
        for days in 0..<800 {
            let add = #"{"$dateAdd":{"startDate":"\#(start)","unit":"day","amount":\#(days)}}"#
            #expect(try evaluated(add) == "\"\(text())\"")
            let isLeap = date.year % 4 == 0 && date.year % 100 != 0 || date.year % 400 == 0
            let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][date.month - 1]
            date.day += 1
            if date.day > length { (date.month, date.day) = (date.month + 1, 1) }
            if date.month > 12 { (date.year, date.month) = (date.year + 1, 1) }
        }
    }
}
