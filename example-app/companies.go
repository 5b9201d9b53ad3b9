package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/example-app/internal/site"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

// readyTimeout bounds the first call on both paths, connections included.
const readyTimeout = 15 * time.Second

// companiesOn reads the list of companies over both paths: when both answer, and answer the same,
// the site is ready.
func companiesOn(ctx context.Context, db *dbaccess.DB) ([]site.CompanyName, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	all := query.From("companies").Named("company_menu").OrderBy(query.Asc("ticker"))
	var lists [2][]site.CompanyName
	for i, path := range []dbaccess.Path{dbaccess.REST, dbaccess.Direct} {
		var err error
		lists[i], err = dbaccess.All[site.CompanyName](dbaccess.WithDecision(ctx, dbaccess.Decision{Path: path, Reason: "start"}), db, all)
		if err != nil {
			return nil, fmt.Errorf("the path %s does not answer: %w", path, hinted(path, err))
		}
	}
	if !slices.Equal(lists[0], lists[1]) {
		return nil, errors.New("the two paths lead to different databases: check DATABASE_URL, POOLER_URL and POSTGREST_URL")
	}
	return lists[0], nil
}

// hinted adds what is likely to be wrong with a PostgREST that isn't ours.
func hinted(path dbaccess.Path, err error) error {
	if path == dbaccess.REST && errors.Is(err, dbaccess.ErrNotFound) {
		return fmt.Errorf("%w (is %s among PostgREST's db-schemas, and its schema cache reloaded?)", err, stock.Schema)
	}
	return err
}
