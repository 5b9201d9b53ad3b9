package site

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

// Queries are written down once and narrowed per request.
var (
	companyByTicker = query.From("companies").Named("company").Select(
		query.Col("ticker"), query.Col("name"), query.Col("listed_on"),
		query.Col(query.JSONText("profile", "hq", "city")),
		query.Col(query.JSONText("profile", "hq", "country")),
		query.Col(query.JSON("profile", "employees")),
	)

	quotes = query.From("quotes").Named("quotes").OrderBy(query.Asc("ticker"))

	priceHistory = query.From("prices").Named("price_history").
			Columns("day", "close", "volume").
			OrderBy(query.Asc("day"))

	filings = query.From("insider_transactions").Select(
		query.Col("id"), query.Col("ticker"), query.Col("insider_name"), query.Col("kind"), query.Col("shares"),
		query.Col("price"), query.Col("value"), query.Col("traded_on"), query.Col("filed_at"),
		query.Col(query.JSONText("meta", "form")), query.Col(query.JSONText("meta", "plan")),
		query.Col(query.JSON("meta", "flags", "late")),
	)
	recentFilings = filings.Named("recent_filings").OrderBy(query.Desc("filed_at"), query.Desc("id"))

	isLate = query.Eq(query.JSONText("meta", "flags", "late"), "true")
)

// asOf is the site's today.
var asOf = mustDate(stock.AsOf)

func mustDate(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// kinds are the values of the type trade_kind.
var kinds = []string{"buy", "sell", "exercise", "gift"}

var errUnknownTicker = &Problem{
	Status: http.StatusNotFound, Code: "unknown_ticker", Message: "no company has this ticker",
}

var tickerForm = regexp.MustCompile(`^[A-Z]{1,5}$`)

// tickerOf returns the path's ticker.
func tickerOf(c echo.Context) (string, error) {
	t := strings.ToUpper(c.Param("ticker"))
	if !tickerForm.MatchString(t) {
		return "", errUnknownTicker
	}
	return t, nil
}

// company answers what is known about one company: two calls, a single row each.
func (s *Site) company(c echo.Context) error {
	ctx := c.Request().Context()
	ticker, err := tickerOf(c)
	if err != nil {
		return err
	}
	company, err := dbaccess.One[Company](ctx, s.cfg.DB, companyByTicker.Where(query.Eq("ticker", ticker)))
	if errors.Is(err, dbaccess.ErrNoRows) {
		return errUnknownTicker
	}
	if err != nil {
		return err
	}
	quote, err := dbaccess.First[Quote](ctx, s.cfg.DB, quotes.Where(query.Eq("ticker", ticker)))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		Company Company `json:"company"`
		Quote   Quote   `json:"quote"`
	}{company, quote})
}

// prices answers the closing prices of some days, as the database wrote them.
func (s *Site) prices(c echo.Context) error {
	ctx := c.Request().Context()
	ticker, err := tickerOf(c)
	if err != nil {
		return err
	}
	p := paramsOf(c)
	days := p.integer("days", 180, 1, 730)
	if p.err != nil {
		return p.err
	}
	raw, err := dbaccess.JSON(ctx, s.cfg.DB, priceHistory.Where(
		query.Eq("ticker", ticker),
		query.Gt("day", asOf.AddDate(0, 0, -days).Format(time.DateOnly)),
	))
	if err != nil {
		return err
	}
	if string(raw) == "[]" {
		if err := s.mustExist(ctx, ticker); err != nil {
			return err
		}
	}
	return c.JSONBlob(http.StatusOK, raw)
}

// filingsOf answers a company's insider transactions, newest first.
func (s *Site) filingsOf(c echo.Context) error {
	ctx := c.Request().Context()
	ticker, err := tickerOf(c)
	if err != nil {
		return err
	}
	p := paramsOf(c)
	q := recentFilings.Where(query.Eq("ticker", ticker)).Limit(p.integer("limit", 9, 1, 200))
	if since, ok := p.instant("since"); ok {
		q = q.Where(query.Gte("filed_at", since))
	}
	if until, ok := p.instant("until"); ok {
		q = q.Where(query.Lt("filed_at", until))
	}
	if list := p.choices("kind", kinds...); list != nil {
		q = q.Where(query.In("kind", list...))
	}
	if least := p.decimal("min_value", ""); least != "" {
		q = q.Where(query.Gte("value", least))
	}
	if name := p.text("insider"); name != "" {
		q = q.Where(query.ILike("insider_name", "%"+likeText(name)+"%"))
	}
	if p.flag("notable") { // large, late, or not planned ahead
		q = q.Where(query.Or(
			query.Gte("value", 5_000_000),
			isLate,
			query.And(query.Eq("kind", "sell"), query.IsNull(query.JSONText("meta", "plan"))),
		))
	}
	if p.err != nil {
		return p.err
	}
	rows, err := dbaccess.All[Filing](ctx, s.cfg.DB, q)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		if err := s.mustExist(ctx, ticker); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, list(rows))
}

// mustExist tells an empty list from an unknown company.
func (s *Site) mustExist(ctx context.Context, ticker string) error {
	n, err := dbaccess.Count(ctx, s.cfg.DB, query.From("companies").Named("company_exists").Where(query.Eq("ticker", ticker)))
	if err != nil {
		return err
	}
	if n == 0 {
		return errUnknownTicker
	}
	return nil
}

// likeText escapes what a pattern would interpret. An asterisk stays: the facade refuses it with an
// advice, because PostgREST takes it for a percent sign.
func likeText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// rowsJSON is a list's answer.
type rowsJSON[T any] struct {
	Rows []T `json:"rows"`
}

func list[T any](rows []T) rowsJSON[T] {
	if rows == nil {
		rows = []T{}
	}
	return rowsJSON[T]{rows}
}
