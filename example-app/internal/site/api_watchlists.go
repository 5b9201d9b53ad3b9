package site

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

var (
	watchlists     = query.From("watchlists").Named("watchlists").OrderBy(query.Asc("is_public"), query.Asc("id"))
	watchlistItems = query.From("watchlist_items").Named("watchlist_items").OrderBy(query.Asc("watchlist_id"), query.Asc("position"))
	watchedQuotes  = quotes.Named("watched_quotes")
)

type watchlistJSON struct {
	Watchlist
	Items []watchlistItemJSON `json:"items"`
}

type watchlistItemJSON struct {
	Ticker    string       `json:"ticker"`
	Note      *string      `json:"note"`
	Close     *json.Number `json:"close"`
	ChangePct *json.Number `json:"change_pct"`
}

// watchlistsOf answers the lists that the caller may see, with prices: three calls. No query names
// the user; row level security does.
func (s *Site) watchlistsOf(c echo.Context) error {
	ctx := c.Request().Context()
	lists, err := dbaccess.All[Watchlist](ctx, s.cfg.DB, watchlists)
	if err != nil {
		return err
	}
	answer := make([]watchlistJSON, len(lists))
	ids := make([]int64, len(lists))
	for i, l := range lists {
		answer[i] = watchlistJSON{Watchlist: l, Items: []watchlistItemJSON{}}
		ids[i] = l.ID
	}
	if len(ids) > 0 {
		if err := s.fillWatchlists(ctx, answer, ids); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, list(answer))
}

func (s *Site) fillWatchlists(ctx context.Context, lists []watchlistJSON, ids []int64) error {
	items, err := dbaccess.All[WatchlistItem](ctx, s.cfg.DB, watchlistItems.Where(query.In("watchlist_id", ids...)))
	if err != nil {
		return err
	}
	var tickers []string
	for _, it := range items {
		tickers = append(tickers, it.Ticker)
	}
	slices.Sort(tickers)
	rows, err := dbaccess.All[Quote](ctx, s.cfg.DB, watchedQuotes.Where(query.In("ticker", slices.Compact(tickers)...)))
	if err != nil {
		return err
	}
	for _, it := range items {
		i := slices.Index(ids, it.WatchlistID)
		if i < 0 {
			continue // the list went away between the calls
		}
		item := watchlistItemJSON{Ticker: it.Ticker, Note: it.Note}
		for _, q := range rows {
			if q.Ticker == it.Ticker {
				item.Close, item.ChangePct = &q.Close, q.ChangePct
			}
		}
		lists[i].Items = append(lists[i].Items, item)
	}
	return nil
}
