package db

// Company is a row of companies.
type Company struct {
	Ticker string `json:"ticker"`
	Name   string `json:"name"`
	Notes  int32  `json:"notes"`
}
