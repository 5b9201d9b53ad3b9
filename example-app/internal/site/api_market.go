package site

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

var (
	movers = query.From("quotes").Named("movers").OrderBy(query.Desc("change_pct").NullsLast(), query.Asc("ticker")).Limit(50)

	largeTrades = filings.Named("large_trades").
			Where(
			query.Gte("filed_at", asOf.AddDate(-1, 0, 0)),
			query.In("kind", "buy", "sell"),
			query.Not(query.Eq(query.JSONText("meta", "form"), "4/A")), // amendments repeat a filing
		).
		OrderBy(query.Desc("value"), query.Asc("id"))

	monthFilings = query.From("insider_transactions").Named("month_filings").Where(query.Gte("filed_at", asOf.AddDate(0, 0, -30)))
	sectors      = query.From("sector_activity").Named("sector_activity").OrderBy(query.Desc("bought"), query.Asc("id"))
	topHolders   = query.From("holdings").Named("top_holders").Where(query.IsNotNull("value")).OrderBy(query.Desc("value"), query.Asc("full_name"))
)

// moversOf answers the companies whose price moved most on the last day.
func (s *Site) moversOf(c echo.Context) error {
	p := paramsOf(c)
	least := p.decimal("min_change", "2")
	if p.err != nil {
		return p.err
	}
	rows, err := dbaccess.All[Quote](c.Request().Context(), s.cfg.DB, movers.Where(
		query.Or(query.Gte("change_pct", least), query.Lte("change_pct", negated(least))),
	))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, list(rows))
}

func negated(decimal string) string {
	if decimal[0] == '-' {
		return decimal[1:]
	}
	return "-" + decimal
}

// largeTradesOf answers a page of the year's largest purchases and sales, and how many there are.
func (s *Site) largeTradesOf(c echo.Context) error {
	p := paramsOf(c)
	page := p.integer("page", 1, 1, 10_000)
	size := p.integer("size", 8, 1, 100)
	least := p.decimal("min_value", "20000000")
	if p.err != nil {
		return p.err
	}
	rows, total, err := dbaccess.Page[Filing](c.Request().Context(), s.cfg.DB,
		largeTrades.Where(query.Gte("value", least)).Limit(size).Offset((page-1)*size))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		rowsJSON[Filing]
		Page     int         `json:"page"`
		Size     int         `json:"size"`
		Total    int64       `json:"total"`
		MinValue json.Number `json:"min_value"`
	}{list(rows), page, size, total, json.Number(least)})
}

// pulse counts the last thirty days' filings: five calls, one after the other, as dashboards do.
func (s *Site) pulse(c echo.Context) error {
	ctx := c.Request().Context()
	var answer struct {
		Since  string `json:"since"`
		Buys   int64  `json:"buys"`
		Sells  int64  `json:"sells"`
		Plans  int64  `json:"planned_sales"`
		Late   int64  `json:"late"`
		Latest Filing `json:"latest"`
	}
	answer.Since = asOf.AddDate(0, 0, -30).Format(time.DateOnly)
	for _, n := range []struct {
		into *int64
		when query.Expr
	}{
		{&answer.Buys, query.Eq("kind", "buy")},
		{&answer.Sells, query.Eq("kind", "sell")},
		{&answer.Plans, query.Eq(query.JSONText("meta", "plan"), "10b5-1")},
		{&answer.Late, isLate},
	} {
		var err error
		if *n.into, err = dbaccess.Count(ctx, s.cfg.DB, monthFilings.Where(n.when)); err != nil {
			return err
		}
	}
	var err error
	if answer.Latest, err = dbaccess.First[Filing](ctx, s.cfg.DB, recentFilings); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

// sectorActivity answers what insiders bought and sold by sector, as the database wrote it.
func (s *Site) sectorActivity(c echo.Context) error {
	raw, err := dbaccess.JSON(c.Request().Context(), s.cfg.DB, sectors)
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, raw)
}

// topInsiders answers the largest holdings.
func (s *Site) topInsiders(c echo.Context) error {
	p := paramsOf(c)
	q := topHolders.Limit(p.integer("limit", 6, 1, 100))
	if p.err != nil {
		return p.err
	}
	rows, err := dbaccess.All[Holding](c.Request().Context(), s.cfg.DB, q)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, list(rows))
}
