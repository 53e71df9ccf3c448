//! From local times of day to UTC. All instants are minutes since 1970-01-01T00:00Z.

use crate::parse::Clock;
use gristmill_guest::{Batch, DataType, Failure, In, Int64, Plan, PrimitiveColumn, Utf8, Utf8Column};

/// Minutes.
pub const DAY: i64 = 24 * 60;

/// The zone of an airport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Minutes east of UTC, without daylight saving.
    standard: i64,
    us_daylight_saving: bool,
}

impl Zone {
    /// Whose clocks show this minute of the day at an instant; at most half a day from UTC.
    pub fn of_clock(instant: i64, minute_of_day: i64) -> Self {
        let ahead = (minute_of_day - instant).rem_euclid(DAY);
        Self { standard: if ahead > DAY / 2 { ahead - DAY } else { ahead }, us_daylight_saving: false }
    }
}

/// The zones of the airports of one column, looked up.
#[derive(Debug)]
pub struct ZoneColumns {
    tz: Hours<In<Int64>, In<Utf8>>,
    dst: In<Utf8>,
}

#[derive(Debug)]
pub struct ZoneViews<'a> {
    tz: Hours<PrimitiveColumn<'a, i64>, Utf8Column<'a>>,
    dst: Utf8Column<'a>,
}

/// Whole hours: a dictionary's column may be typed or not.
#[derive(Debug)]
enum Hours<N, T> {
    Number(N),
    Text(T),
}

impl ZoneColumns {
    /// `airport` is an input column of airport codes.
    pub fn read(plan: &mut Plan<'_>, airport: &str) -> Result<Self, Failure> {
        let tz = plan.lookup("airports", airport, "tz")?;
        let dst = plan.lookup("airports", airport, "dst")?;
        let tz = match tz.data_type() {
            DataType::Int64 => Hours::Number(plan.read_lookup(&tz)?),
            _ => Hours::Text(plan.read_lookup(&tz)?),
        };
        Ok(Self { tz, dst: plan.read_lookup(&dst)? })
    }

    pub fn view<'a>(&self, batch: &'a Batch) -> ZoneViews<'a> {
        let tz = match self.tz {
            Hours::Number(column) => Hours::Number(batch.column(column)),
            Hours::Text(column) => Hours::Text(batch.column(column)),
        };
        ZoneViews { tz, dst: batch.column(self.dst) }
    }
}

impl ZoneViews<'_> {
    /// None where the dictionary does not know the airport, or not its zone.
    #[inline]
    pub fn get(&self, row: usize) -> Option<Zone> {
        let hours = match &self.tz {
            Hours::Number(column) => column.get(row)?,
            Hours::Text(column) => {
                if column.is_null(row) {
                    return None;
                }
                column.parse_integer(row)?
            }
        };
        let us_daylight_saving = !self.dst.is_null(row) && matches!(self.dst.bytes(row), [b'A']);
        (-14..=14).contains(&hours).then_some(Zone { standard: hours * 60, us_daylight_saving })
    }
}

/// Knows when daylight saving holds, and remembers what it worked out last: rows of a file are near one another.
#[derive(Debug)]
pub struct Calendar {
    year: Year,
    hour: i64,
    /// The text of `hour`.
    hour_text: HourText,
}

/// A calendar year in local standard time.
#[derive(Debug, Clone, Copy)]
struct Year {
    start: i64,
    end: i64,
    /// Daylight saving holds from here …
    daylight_start: i64,
    /// … to here.
    daylight_end: i64,
}

impl Year {
    /// The rule of the United States since 2007: from 2:00 standard time on the second Sunday of March to 2:00
    /// daylight time, which is 1:00 standard time, on the first Sunday of November.
    fn of(year: i64) -> Self {
        let march = first_sunday(year, 3) + 7;
        let november = first_sunday(year, 11);
        Self {
            start: days(year, 1, 1) * DAY,
            end: days(year + 1, 1, 1) * DAY,
            daylight_start: march * DAY + 2 * 60,
            daylight_end: november * DAY + 60,
        }
    }
}

impl Calendar {
    pub fn new() -> Self {
        Self { year: Year::of(2013), hour: 0, hour_text: HourText([0; 8], [0; 8], [0; 4]) }
    }

    /// Minutes that local time is ahead of UTC.
    #[inline]
    fn offset(&mut self, zone: Zone, instant: i64) -> i64 {
        if !zone.us_daylight_saving {
            return zone.standard;
        }
        let local = instant + zone.standard;
        if local < self.year.start || local >= self.year.end {
            self.year = Year::of(date_of(local.div_euclid(DAY)).0);
        }
        let daylight = local >= self.year.daylight_start && local < self.year.daylight_end;
        zone.standard + if daylight { 60 } else { 0 }
    }

    /// Days since 1970-01-01 on the zone's calendar.
    #[inline]
    pub fn local_day(&mut self, zone: Zone, instant: i64) -> i32 {
        (instant + self.offset(zone, instant)).div_euclid(DAY) as i32
    }

    /// The instant nearest to `expected` at which clocks of the zone show `clock`.
    #[inline]
    pub fn nearest(&mut self, zone: Zone, expected: i64, clock: Clock) -> i64 {
        let offset = self.offset(zone, expected);
        let ahead = (clock.minute_of_day() - (expected + offset)).rem_euclid(DAY);
        let nearest = expected + if ahead > DAY / 2 { ahead - DAY } else { ahead };
        nearest + offset - self.offset(zone, nearest)
    }

    /// The first instant from `start` on at which clocks of the zone show `clock`: within a day.
    #[inline]
    pub fn first_after(&mut self, zone: Zone, start: i64, clock: Clock) -> i64 {
        let offset = self.offset(zone, start);
        let after = start + (clock.minute_of_day() - (start + offset)).rem_euclid(DAY);
        after + offset - self.offset(zone, after)
    }

    /// The instant of a text such as `2013-01-01T10:00:00Z`.
    #[inline]
    pub fn hour(&mut self, text: &[u8]) -> Option<i64> {
        let text = HourText::new(text)?;
        if text != self.hour_text {
            self.hour = text.parse()?;
            self.hour_text = text;
        }
        Some(self.hour)
    }
}

/// A text of the length of `2013-01-01T10:00:00Z`, in pieces that compare fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HourText([u8; 8], [u8; 8], [u8; 4]);

impl HourText {
    #[inline]
    fn new(text: &[u8]) -> Option<Self> {
        let (first, rest) = text.split_first_chunk()?;
        let (second, rest) = rest.split_first_chunk()?;
        Some(Self(*first, *second, rest.try_into().ok()?))
    }

    fn parse(self) -> Option<i64> {
        let Self([y1, y2, y3, y4, b'-', m1, m2, b'-'], [d1, d2, b'T', h1, h2, b':', n1, n2], [b':', b'0', b'0', b'Z']) =
            self
        else {
            return None;
        };
        let number = |digits: &[u8]| {
            digits
                .iter()
                .try_fold(0i32, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i32::from(digit - b'0')))
        };
        let date = days_of(number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?)?;
        let (hour, minute) = (number(&[h1, h2])?, number(&[n1, n2])?);
        (hour < 24 && minute < 60).then(|| i64::from(date) * DAY + i64::from(hour * 60 + minute))
    }
}

/// Days since 1970-01-01, or none where there is no such day. Years 1 to 9999.
fn days_of(year: i32, month: i32, day: i32) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i32::from(leap),
        _ => return None,
    };
    let exists = (1..=9999).contains(&year) && (1..=length).contains(&day);
    exists.then(|| days(year.into(), month.into(), day.into()) as i32)
}

/// Days since 1970-01-01 of a day that exists. Years run from March, so that the leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// Year, month and day of a day since 1970-01-01.
pub fn date_of(day: i64) -> (i64, i64, i64) {
    const CENTURIES: i64 = 146_097;
    let day = day + 719_468;
    let (era, in_era) = (day.div_euclid(CENTURIES), day.rem_euclid(CENTURIES));
    let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let day_of_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let date = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year_of_era + carry, month, date)
}

/// Day since 1970-01-01 of a month's first Sunday.
fn first_sunday(year: i64, month: i64) -> i64 {
    let first = days(year, month, 1);
    // 1970-01-01 was a Thursday: day 3 was the first Sunday.
    first + (3 - first).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        Calendar::new().hour(text.as_bytes()).unwrap()
    }
    fn clock(hhmm: i32) -> Clock {
        Clock::new(hhmm).unwrap()
    }
    const NEW_YORK: Zone = Zone { standard: -300, us_daylight_saving: true };

    #[test]
    fn days_and_dates_agree() {
        let first = days(1899, 12, 31);
        for day in first..first + 100_000 {
            let (year, month, date) = date_of(day);
            assert_eq!(days_of(year as i32, month as i32, date as i32), Some(day as i32));
        }
        assert_eq!((days_of(1970, 1, 1), days_of(2013, 1, 1)), (Some(0), Some(15_706)));
        for (year, month, day) in [(2013, 2, 29), (2013, 13, 1), (2013, 4, 31), (2013, 1, 0), (0, 1, 1)] {
            assert_eq!(days_of(year, month, day), None);
        }
        assert!(days_of(2000, 2, 29).is_some() && days_of(1900, 2, 29).is_none());
    }

    #[test]
    fn daylight_saving_of_the_united_states() {
        let mut calendar = Calendar::new();
        let mut offset = |text| calendar.offset(NEW_YORK, at(text));
        assert_eq!(offset("2013-03-10T06:59:00Z"), -300);
        assert_eq!(offset("2013-03-10T07:00:00Z"), -240);
        assert_eq!(offset("2013-11-03T05:59:00Z"), -240);
        assert_eq!(offset("2013-11-03T06:00:00Z"), -300);
        assert_eq!(offset("2014-03-09T07:00:00Z"), -240);
        assert_eq!(offset("2013-07-01T00:00:00Z"), -240);
        let phoenix = Zone { standard: -420, us_daylight_saving: false };
        assert_eq!(calendar.offset(phoenix, at("2013-07-01T00:00:00Z")), -420);
    }

    #[test]
    fn a_schedule_gives_an_offset() {
        let offset = |instant, hhmm| Zone::of_clock(at(instant), clock(hhmm).minute_of_day()).standard;
        assert_eq!(offset("2013-01-01T10:15:00Z", 515), -300);
        assert_eq!(offset("2013-01-02T04:59:00Z", 2359), -300);
        assert_eq!(offset("2013-01-01T23:00:00Z", 800), 540);
    }

    #[test]
    fn clocks_are_placed_across_midnight_and_the_change() {
        let mut calendar = Calendar::new();
        // Scheduled 23:59, left at 0:30 local.
        let scheduled = at("2013-01-02T04:59:00Z");
        assert_eq!(calendar.nearest(NEW_YORK, scheduled + 31, clock(30)), at("2013-01-02T05:30:00Z"));
        // Left a minute before midnight for a flight of the next day.
        assert_eq!(calendar.nearest(NEW_YORK, at("2013-01-02T05:05:00Z"), clock(2359)), at("2013-01-02T04:59:00Z"));
        // Clocks jump from 2:00 to 3:00 at 7:00Z.
        assert_eq!(calendar.first_after(NEW_YORK, at("2013-03-10T06:00:00Z"), clock(400)), at("2013-03-10T08:00:00Z"));
        // 2400 is the midnight that ends the day.
        assert_eq!(calendar.first_after(NEW_YORK, at("2013-01-01T23:00:00Z"), clock(2400)), at("2013-01-02T05:00:00Z"));
    }

    #[test]
    fn texts_that_are_no_hour() {
        for bad in [
            "",
            "2013-01-01",
            "2013-01-01T24:00:00Z",
            "2013-02-30T01:00:00Z",
            "2013-01-01T1x:00:00Z",
            "2013-01-01T10:00:30Z",
        ] {
            assert_eq!(Calendar::new().hour(bad.as_bytes()), None, "{bad}");
        }
    }
}
