package site

import (
	"encoding/json"
	"time"
)

// Rows as the site reads and answers them. A field's json tag is its column, too. Money and ratios
// are json.Number: every digit is the database's.

// Company is a row of companies.
type Company struct {
	Ticker    string `json:"ticker"`
	Name      string `json:"name"`
	ListedOn  string `json:"listed_on"`
	City      string `json:"city"`    // profile -> hq ->> city
	Country   string `json:"country"` // profile -> hq ->> country
	Employees int64  `json:"employees"`
}

// Quote is a row of the view quotes: the last price of a company.
type Quote struct {
	Ticker    string       `json:"ticker"`
	Name      string       `json:"name"`
	Sector    string       `json:"sector"`
	Day       string       `json:"day"`
	Close     json.Number  `json:"close"`
	ChangePct *json.Number `json:"change_pct"`
	Volume    int64        `json:"volume"`
	MarketCap json.Number  `json:"market_cap"`
}

// Filing is a row of insider_transactions. A gift has neither price nor value.
type Filing struct {
	ID       int64        `json:"id"`
	Ticker   string       `json:"ticker"`
	Insider  string       `json:"insider_name"`
	Kind     string       `json:"kind"`
	Shares   int64        `json:"shares"`
	Price    *json.Number `json:"price"`
	Value    *json.Number `json:"value"`
	TradedOn string       `json:"traded_on"`
	FiledAt  time.Time    `json:"filed_at"`
	Form     string       `json:"form"` // meta ->> form
	Plan     *string      `json:"plan"` // meta ->> plan: 10b5-1 for a sale planned ahead
	Late     bool         `json:"late"` // meta -> flags -> late
}

// Holding is a row of holdings: what an insider owns.
type Holding struct {
	Insider     string       `json:"full_name"`
	Title       string       `json:"title"`
	Ticker      string       `json:"ticker"`
	Shares      int64        `json:"shares"`
	Value       *json.Number `json:"value"`
	LastFiledAt time.Time    `json:"last_filed_at"`
}

// Watchlist is a row of watchlists with the rows of watchlist_items that belong to it. Row level
// security decides which rows a user sees.
type Watchlist struct {
	ID       int64           `json:"id"`
	Title    string          `json:"title"`
	IsPublic bool            `json:"is_public"`
	Items    []WatchlistItem `json:"items" embed:"watchlist_items"`
}

// WatchlistItem is a row of watchlist_items with that of quotes.
type WatchlistItem struct {
	Ticker   string        `json:"ticker"`
	Note     *string       `json:"note"`
	Position int           `json:"position"`
	Quote    *WatchedQuote `json:"quote" embed:"quotes"`
}

// WatchedQuote is what a watchlist shows of a row of quotes.
type WatchedQuote struct {
	Close     json.Number  `json:"close"`
	ChangePct *json.Number `json:"change_pct"`
}
