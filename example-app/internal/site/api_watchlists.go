package site

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

var watchlists = query.From("watchlists").Named("watchlists").OrderBy(query.Asc("is_public"), query.Asc("id"))

// watchlistsOf answers the lists that the caller may see, with what is on them and its prices: one
// call, for related rows come along. No query names the user; row level security does.
func (s *Site) watchlistsOf(c echo.Context) error {
	rows, err := dbaccess.All[Watchlist](c.Request().Context(), s.cfg.DB, watchlists)
	if err != nil {
		return err
	}
	for _, l := range rows {
		slices.SortFunc(l.Items, func(a, b WatchlistItem) int {
			return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Ticker, b.Ticker))
		})
	}
	return c.JSON(http.StatusOK, list(rows))
}

const (
	maxItemBody = 1 << 10
	maxNote     = 100 // characters
	atTheEnd    = 1_000_000
)

// newItem is a row to be added to watchlist_items.
type newItem struct {
	WatchlistID int64   `json:"watchlist_id"`
	Ticker      string  `json:"ticker"`
	Position    int     `json:"position"`
	Note        *string `json:"note"`
}

// watch puts a company on a list. Whether it is the caller's own is for row level security to say, and
// whether there is such a company for a foreign key.
func (s *Site) watch(c echo.Context) error {
	id, err := listOf(c)
	if err != nil {
		return err
	}
	var body struct {
		Ticker string  `json:"ticker"`
		Note   *string `json:"note"`
	}
	in, err := io.ReadAll(io.LimitReader(c.Request().Body, maxItemBody))
	if err != nil || json.Unmarshal(in, &body) != nil || !tickerForm.MatchString(body.Ticker) ||
		body.Note != nil && utf8.RuneCountInString(*body.Note) > maxNote {
		return &Problem{
			Status: http.StatusBadRequest, Code: "bad_body",
			Message: `the body must be {"ticker": "NRVA", "note": "…"}, the note of 100 characters at most and not required`,
		}
	}
	item := newItem{WatchlistID: id, Ticker: body.Ticker, Position: atTheEnd, Note: body.Note}
	if _, err := dbaccess.Exec(c.Request().Context(), s.cfg.DB, query.Insert("watchlist_items", item).Named("watch")); err != nil {
		return err
	}
	return c.NoContent(http.StatusCreated)
}

// unwatch takes a company off a list of the caller's. What isn't the caller's isn't there.
func (s *Site) unwatch(c echo.Context) error {
	id, err := listOf(c)
	if err != nil {
		return err
	}
	ticker, err := tickerOf(c)
	if err != nil {
		return err
	}
	n, err := dbaccess.Exec(c.Request().Context(), s.cfg.DB, query.Delete("watchlist_items").Named("unwatch").
		Where(query.Eq("watchlist_id", id), query.Eq("ticker", ticker)))
	if err != nil {
		return err
	}
	if n == 0 {
		return &Problem{Status: http.StatusNotFound, Code: "unknown_item", Message: "none of your watchlists has this company"}
	}
	return c.NoContent(http.StatusNoContent)
}

// listOf returns the path's watchlist.
func listOf(c echo.Context) (int64, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil {
		return 0, &Problem{Status: http.StatusNotFound, Code: "unknown_list", Message: "there is no such watchlist"}
	}
	return id, nil
}
