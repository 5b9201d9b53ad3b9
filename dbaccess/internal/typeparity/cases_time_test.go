package typeparity_test

import (
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

var (
	seoul = time.FixedZone("KST", 9*3600)
	noon  = time.Date(2026, 2, 28, 12, 13, 14, 123456000, time.UTC)
	day   = time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)
	// early is a moment whose date in Seoul is a day after that in UTC.
	early       = time.Date(2026, 3, 1, 0, 30, 0, 0, seoul)
	idesOfMarch = time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC)
	farFuture   = time.Date(12026, 1, 2, 0, 0, 0, 0, time.UTC)
)

// timeCases are dates, times and intervals.
var timeCases = []typeCase{
	both("c_date", day, idesOfMarch, farFuture).and(
		becomes("c_date", early, day),
		becomes("c_date", noon, day),
	),
	both("c_date", ptr(day), nil),
	both("c_date", sql.NullTime{Time: day, Valid: true}, sql.NullTime{}),
	both("c_date", pgtype.Date{Time: day, Valid: true}, pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true},
		pgtype.Date{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, pgtype.Date{Time: idesOfMarch, Valid: true},
		pgtype.Date{Time: farFuture, Valid: true}, pgtype.Date{}).and(
		becomes("c_date", pgtype.Date{Time: early, Valid: true}, pgtype.Date{Time: day.AddDate(0, 0, 1), Valid: true}),
	),
	both("c_date", civilDate{2026, 2, 28}).as("`civil.Date`, and its like"),
	both("c_date", driverTime{day}).as("a `driver.Valuer` and `sql.Scanner` of `time.Time`"),
	both("c_date", "2026-02-28", "infinity", "0044-03-15 BC"),

	both("c_time", 13*time.Hour+14*time.Minute+15*time.Second+123456*time.Microsecond, 24*time.Hour, 0).as("`time.Duration` since midnight"),
	both("c_time", ptr(time.Hour), nil).as("pointers to it"),
	both("c_time", pgtype.Time{Microseconds: 47655123456, Valid: true}, pgtype.Time{Microseconds: 86400000000, Valid: true}, pgtype.Time{}),
	both("c_time", "13:14:15.123456"),
	both("c_timetz", "13:14:15+09", "23:59:59.999999+00"),
	both("c_timetz", sql.NullString{String: "13:14:15+09", Valid: true}, sql.NullString{}),

	both("c_timestamp", noon, idesOfMarch, farFuture, time.Time{}).and(
		becomes("c_timestamp", early, early.UTC()),
		becomes("c_timestamp", noon.Add(789), noon.Add(1000)),
	),
	both("c_timestamp", ptr(noon), nil),
	both("c_timestamp", sql.NullTime{Time: noon, Valid: true}, sql.NullTime{}),
	both("c_timestamp", pgtype.Timestamp{Time: noon, Valid: true}, pgtype.Timestamp{InfinityModifier: pgtype.Infinity, Valid: true},
		pgtype.Timestamp{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, pgtype.Timestamp{Time: idesOfMarch, Valid: true},
		pgtype.Timestamp{Time: farFuture, Valid: true}, pgtype.Timestamp{}).and(
		becomes("c_timestamp", pgtype.Timestamp{Time: early, Valid: true}, pgtype.Timestamp{Time: time.Date(2026, 3, 1, 0, 30, 0, 0, time.UTC), Valid: true}),
	),
	both("c_timestamp", driverTime{noon}).as("a `driver.Valuer` and `sql.Scanner` of `time.Time`"),
	both("c_timestamp", "2026-02-28T12:13:14.123456", "-infinity"),

	both("c_timestamptz", noon, idesOfMarch, farFuture).and(becomes("c_timestamptz", early, early.UTC())),
	both("c_timestamptz", ptr(noon), nil),
	both("c_timestamptz", sql.Null[time.Time]{V: noon, Valid: true}, sql.Null[time.Time]{}),
	both("c_timestamptz", sql.NullTime{Time: noon, Valid: true}, sql.NullTime{}),
	both("c_timestamptz", pgtype.Timestamptz{Time: noon, Valid: true}, pgtype.Timestamptz{Time: early, Valid: true}, pgtype.Timestamptz{Time: idesOfMarch, Valid: true},
		pgtype.Timestamptz{Time: farFuture, Valid: true}, pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true},
		pgtype.Timestamptz{}),
	both("c_timestamptz", driverTime{noon}, driverTime{farFuture}).as("a `driver.Valuer` and `sql.Scanner` of `time.Time`"),
	both("c_timestamptz", "2026-02-28T12:13:14.123456+00:00", "infinity"),

	both("c_interval", 0, 90*time.Second, -1500*time.Millisecond, 100*24*time.Hour, time.Microsecond, -(1<<63)/1000*1000*time.Nanosecond),
	both("c_interval", ptr(time.Second), nil),
	both("c_interval", sql.Null[time.Duration]{V: time.Second, Valid: true}, sql.Null[time.Duration]{}),
	both("c_interval", pgtype.Interval{Months: 14, Days: 3, Microseconds: 14706500000, Valid: true},
		pgtype.Interval{Days: -1, Microseconds: 7380000000, Valid: true}, pgtype.Interval{Microseconds: -1, Valid: true}, pgtype.Interval{}),
	both("c_interval", "1 year 2 mons 3 days 04:05:06.5", "-1 days +02:03:00"),
}
