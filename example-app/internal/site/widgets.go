package site

// Widget is a box of the home page and the endpoint that fills it.
type Widget struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Path  string `json:"path"`
	Calls string `json:"calls"` // the facade verbs it takes
}

// defaultTicker is the company that the home page shows unless told another.
const defaultTicker = "NRVA"

// widgets are the home page's nine widgets for a company.
func widgets(ticker string) []Widget {
	return []Widget{
		{"company", "Company", "/api/stocks/" + ticker, "One, First"},
		{"prices", "Closing price, 180 days", "/api/stocks/" + ticker + "/prices", "JSON"},
		{"filings", "Insider transactions", "/api/stocks/" + ticker + "/insider-transactions", "All"},
		{"pulse", "Last 30 days", "/api/market/pulse", "Count ×4, First"},
		{"movers", "Movers of the day", "/api/market/movers", "All"},
		{"sectors", "Insiders by sector, 30 days", "/api/sectors", "JSON"},
		{"large-trades", "Largest trades of the year", "/api/market/large-trades", "Page"},
		{"top-insiders", "Largest holdings", "/api/insiders/top", "All"},
		{"watchlists", "Watchlists", "/api/watchlists", "All, with related rows"},
	}
}
