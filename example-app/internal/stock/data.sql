-- The stock site's data. It is the same on every machine: what looks like chance is the md5 of a row's number.

set local search_path = {{schema}}, pg_catalog;
set local work_mem = '64MB';

-- A number in [0, 1) that depends on its arguments alone.
create function noise(topic text, n bigint) returns float8 immutable language sql as
  $$ select ('x' || substr(md5(topic || n::text), 1, 7))::bit(28)::int / 268435456.0::float8 $$;

-- The same from some hexadecimal digits of a hash, so that one hash serves many columns of a row.
create function part(hash text, start int, digits int) returns float8 immutable language sql as
  $$ select ('x' || lpad(substr(hash, start, digits), 8, '0'))::bit(32)::int / 16.0::float8 ^ digits $$;

insert into sectors values
  (1, 'Technology'), (2, 'Health Care'), (3, 'Energy'), (4, 'Industrials'),
  (5, 'Consumer'), (6, 'Financials'), (7, 'Materials'), (8, 'Utilities');

insert into companies (ticker, name, sector_id, listed_on, shares_outstanding, profile)
select ticker, name, sector_id,
       date '1996-03-04' + (noise('listed', n) * 9000)::int,
       (20 + noise('shares', n) * 900)::bigint * 1000000,
       jsonb_build_object(
         'employees', (200 + noise('staff', n) ^ 2 * 60000)::int,
         'hq', jsonb_build_object('city', city, 'country', country),
         'tags', case when noise('tag', n) < 0.3 then jsonb_build_array('dividend') else '[]'::jsonb end)
from (values
  (1, 'NRVA', 'Norvana Systems', 1, 'Tallinn', 'EE'), (2, 'QLIT', 'Quillight Photonics', 1, 'Eindhoven', 'NL'),
  (3, 'BRKS', 'Birkshore Software', 1, 'Bergen', 'NO'), (4, 'HXCO', 'Hexacore Devices', 1, 'Hsinchu', 'TW'),
  (5, 'CLDM', 'Cloudmere', 1, 'Galway', 'IE'), (6, 'OPTA', 'Optara Networks', 1, 'Austin', 'US'),
  (7, 'SYNQ', 'Synquill', 1, 'Seoul', 'KR'), (8, 'DTLN', 'Datalune', 1, 'Montreal', 'CA'),
  (9, 'MDRA', 'Medora Therapeutics', 2, 'Basel', 'CH'), (10, 'VLNT', 'Valenti Biosciences', 2, 'Bologna', 'IT'),
  (11, 'CURX', 'Curexia', 2, 'Boston', 'US'), (12, 'ORTH', 'Orthwell Implants', 2, 'Lund', 'SE'),
  (13, 'GNMV', 'Genomavia', 2, 'Cambridge', 'GB'), (14, 'HLYN', 'Halcyne Diagnostics', 2, 'Utrecht', 'NL'),
  (15, 'PLSA', 'Pulsara Devices', 2, 'Minneapolis', 'US'), (16, 'SLRW', 'Solarwend', 3, 'Seville', 'ES'),
  (17, 'PTRC', 'Petrocrest', 3, 'Calgary', 'CA'), (18, 'WNDF', 'Windfirth', 3, 'Aberdeen', 'GB'),
  (19, 'NUKA', 'Nukari Energy', 3, 'Turku', 'FI'), (20, 'BTRY', 'Batteryx Storage', 3, 'Pohang', 'KR'),
  (21, 'GASL', 'Gasline Partners', 3, 'Houston', 'US'), (22, 'RBTQ', 'Robotiqa', 4, 'Nagoya', 'JP'),
  (23, 'AERV', 'Aerovant', 4, 'Toulouse', 'FR'), (24, 'FRGT', 'Fargate Logistics', 4, 'Rotterdam', 'NL'),
  (25, 'STLW', 'Steelward', 4, 'Linz', 'AT'), (26, 'TRBN', 'Turbonia', 4, 'Brno', 'CZ'),
  (27, 'CRGO', 'Cargolane', 4, 'Singapore', 'SG'), (28, 'ELVT', 'Elevatra', 4, 'Lucerne', 'CH'),
  (29, 'MRKT', 'Merkato Stores', 5, 'Porto', 'PT'), (30, 'BREW', 'Brewhollow', 5, 'Ghent', 'BE'),
  (31, 'TXTL', 'Textilora', 5, 'Biella', 'IT'), (32, 'PLYF', 'Playfern Games', 5, 'Malmo', 'SE'),
  (33, 'SNKR', 'Sneakerline', 5, 'Portland', 'US'), (34, 'HOMY', 'Homywell', 5, 'Nashville', 'US'),
  (35, 'TOYM', 'Toymarch', 5, 'Billund', 'DK'), (36, 'CFBK', 'Cafebrook', 5, 'Melbourne', 'AU'),
  (37, 'LNDR', 'Lendora Bank', 6, 'Dublin', 'IE'), (38, 'INSR', 'Insurion', 6, 'Zurich', 'CH'),
  (39, 'PAYW', 'Payweir', 6, 'Vilnius', 'LT'), (40, 'TRST', 'Trustfall Capital', 6, 'Charlotte', 'US'),
  (41, 'ASTR', 'Assetria', 6, 'Luxembourg', 'LU'), (42, 'BNDW', 'Bondwick', 6, 'Edinburgh', 'GB'),
  (43, 'COPR', 'Copperline Mining', 7, 'Antofagasta', 'CL'), (44, 'CHEM', 'Chemora', 7, 'Antwerp', 'BE'),
  (45, 'PAPR', 'Paperholm', 7, 'Tampere', 'FI'), (46, 'LITH', 'Lithara', 7, 'Perth', 'AU'),
  (47, 'WATR', 'Waterstead', 8, 'Leeds', 'GB'), (48, 'GRDH', 'Gridhaven', 8, 'Omaha', 'US'),
  (49, 'HYDR', 'Hydrelle', 8, 'Grenoble', 'FR'), (50, 'LMNA', 'Luminara Power', 8, 'Osaka', 'JP')
) c (n, ticker, name, sector_id, city, country);

-- ------------------------------------------------------------ prices: a random walk on every weekday of two years
insert into prices (ticker, day, close, change_pct, volume)
select ticker, day, close,
       ((close / lag(close) over (partition by ticker order by day) - 1) * 100)::numeric(7, 2),
       (shares_outstanding / 250 * (0.4 + noise('volume' || ticker, d)))::bigint
from (
  select c.ticker, c.shares_outstanding, t.day, t.d,
         (start * exp(sum(drift + vol * (noise('a' || c.ticker, d) + noise('b' || c.ticker, d) + noise('c' || c.ticker, d) - 1.5))
                      over (partition by c.ticker order by d)))::numeric(12, 2) as close
  from (select *, (8 + 190 * noise('start' || ticker, 0) ^ 2) as start,
               0.018 + 0.03 * noise('vol' || ticker, 0) as vol,
               0.0012 * (noise('drift' || ticker, 0) - 0.42) as drift from companies) c
  cross join (select day::date, row_number() over (order by day) as d
              from generate_series(timestamp '2024-07-01', timestamp '2026-06-30', interval '1 day') day
              where extract(isodow from day) < 6) t
) walk;

-- ------------------------------------------------------------ insiders: eight a company
insert into insiders (id, full_name, ticker, title, profile)
select n, first || ' ' || last, ticker, title,
       jsonb_build_object('since', 2004 + (noise('since', n) * 21)::int,
                          'board', jsonb_build_object('member', seat > 4 or seat = 1, 'independent', seat > 5))
from (
  select c.ticker, seat, n,
         (array['Chief Executive Officer', 'Chief Financial Officer', 'Chief Operating Officer', 'General Counsel',
                'Chair of the Board', 'Director', 'Director', '10% Owner'])[seat] as title,
         (array['Amara', 'Bruno', 'Chiara', 'Dmitri', 'Elif', 'Farid', 'Greta', 'Hana', 'Ivo', 'Jana', 'Kenji', 'Lena', 'Mateo',
                'Nadia', 'Otto', 'Priya', 'Quentin', 'Rosa', 'Sami', 'Tessa', 'Ulrich', 'Vera', 'Wanda', 'Yusuf', 'Zoe'])
           [1 + (n * 7 + n / 25) % 25] as first,
         (array['Abell', 'Brandt', 'Castell', 'Dahl', 'Eriksen', 'Fontaine', 'Grau', 'Holm', 'Ishida', 'Jansen', 'Kovac', 'Lindqvist',
                'Marchetti', 'Novak', 'Okafor', 'Petrov', 'Quist', 'Rahman', 'Sato', 'Thorne', 'Umeh', 'Vidal', 'Weiss', 'Yilmaz', 'Zander', 'Park', 'Kim'])
           [1 + (n * 11 + n / 27) % 27] as last
  from (select ticker, row_number() over (order by ticker) as c from companies) c,
       lateral (select seat, (c.c - 1) * 8 + seat as n from generate_series(1, 8) seat) s
) people;

-- ------------------------------------------------------------ 100,000 filings, numbered in the order of filing
insert into insider_transactions (id, ticker, insider_id, insider_name, kind, shares, price, traded_on, filed_at, meta)
with raw as materialized (
  select n, md5('filing' || n::text) as h from generate_series(1, 100000) n
), drawn as materialized (
  select n, h, 1 + (part(h, 1, 3) * 50)::int % 50 as c, (part(h, 4, 2) * 8)::int % 8 as seat, part(h, 6, 3) as k,
         date '2024-07-01' + (part(h, 9, 4) * 729)::int as day
  from raw
), traded as (
  select d.n, d.h, c.ticker, (d.c - 1) * 8 + 1 + d.seat as insider_id,
         case when k < 0.22 then 'buy' when k < 0.68 then 'sell' when k < 0.94 then 'exercise' else 'gift' end::trade_kind as kind,
         d.day + case extract(isodow from d.day) when 6 then -1 when 7 then -2 else 0 end as traded_on
  from drawn d
  join (select ticker, row_number() over (order by ticker) as c from companies) c using (c)
), filed as (
  -- Most are filed within two days, some late; by the evening of the last day all are in.
  select *, least(traded_on + interval '6 hours' + 3.1 * part(h, 13, 4) ^ 1.5 * interval '1 day' + n % 60 * interval '1 second',
                  timestamp '2026-06-30 18:00:00' + n % 7200 * interval '1 second') at time zone 'UTC' as filed_at
  from traded
)
select row_number() over (order by t.filed_at, t.n), t.ticker, t.insider_id, i.full_name, t.kind,
       (10 ^ (2 + 3.2 * part(t.h, 17, 4)))::bigint,
       case when t.kind <> 'gift' then round(p.close * (0.99 + 0.02 * part(t.h, 21, 4))::numeric, 2) end,
       t.traded_on, t.filed_at,
       jsonb_build_object(
         'form', case when part(t.h, 25, 3) < 0.05 then '4/A' else '4' end,
         'plan', case when t.kind = 'sell' and part(t.h, 28, 3) < 0.6 then '10b5-1' end,
         'flags', jsonb_build_object('late', t.filed_at at time zone 'UTC' >= t.traded_on + interval '3 days',
                                     'direct', part(t.h, 31, 2) < 0.8))
from filed t
join insiders i on i.id = t.insider_id
join prices p on p.ticker = t.ticker and p.day = t.traded_on;

insert into holdings
select i.id, i.full_name, i.ticker, i.title, s.held, round(s.held * q.close, 2), s.last_filed_at
from insiders i
join (select insider_id, max(filed_at) as last_filed_at,
             50000 + abs(sum(case when kind in ('buy', 'exercise') then shares else -shares end)) as held
      from insider_transactions group by insider_id) s on s.insider_id = i.id
join quotes q on q.ticker = i.ticker;

-- ------------------------------------------------------------ watchlists of the demo's two users, and one for everybody
insert into watchlists (id, owner, title, is_public) values
  (1, '00000000-0000-4000-8000-000000000000', 'Editors'' picks', true),
  (2, '11111111-1111-4111-8111-111111111111', 'Semis and software', false),
  (3, '11111111-1111-4111-8111-111111111111', 'Dividend candidates', false),
  (4, '22222222-2222-4222-8222-222222222222', 'Energy transition', false);
insert into watchlist_items (watchlist_id, ticker, position, note) values
  (1, 'NRVA', 1, 'Cluster of buys in spring'), (1, 'WNDF', 2, null), (1, 'MDRA', 3, 'Trial results due'),
  (2, 'HXCO', 1, 'New fab'), (2, 'NRVA', 2, null), (2, 'QLIT', 3, 'CFO bought twice'), (2, 'CLDM', 4, null),
  (3, 'WATR', 1, null), (3, 'INSR', 2, 'Ex-date in July'), (3, 'GRDH', 3, null),
  (4, 'SLRW', 1, null), (4, 'BTRY', 2, 'Watch the order book'), (4, 'LITH', 3, null), (4, 'NUKA', 4, 'Late filings');

drop function noise(text, bigint);
drop function part(text, int, int);

-- Checked and indexed in one go, which is much faster than row by row.
alter table prices add foreign key (ticker) references companies;
alter table insider_transactions
  add foreign key (ticker) references companies,
  add foreign key (insider_id) references insiders;

create index insider_transactions_ticker_idx on insider_transactions (ticker, filed_at desc, id desc);
create index insider_transactions_filed_idx on insider_transactions (filed_at desc, id desc);
create index insider_transactions_value_idx on insider_transactions (value desc);
create index insider_transactions_late_idx on insider_transactions (filed_at) where meta -> 'flags' ->> 'late' = 'true';
create index insiders_ticker_idx on insiders (ticker);
create index prices_day_idx on prices (day, change_pct);
create index holdings_value_idx on holdings (value desc);

grant usage on schema {{schema}} to anon, authenticated, service_role;
grant select on all tables in schema {{schema}} to anon, authenticated;
grant insert, update, delete on watchlists, watchlist_items to authenticated;
grant all on all tables in schema {{schema}} to service_role;

analyze sectors, companies, insiders, prices, insider_transactions, holdings, watchlists, watchlist_items;
