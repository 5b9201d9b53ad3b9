-- The stock site's tables, in a schema of their own. {{schema}} is replaced by the schema's name.
-- All companies and people are made up.

create schema {{schema}};
comment on schema {{schema}} is 'twinpath demo data, version 1; drop schema {{schema}} cascade removes it';
set local search_path = {{schema}}, pg_catalog;

create type trade_kind as enum ('buy', 'sell', 'exercise', 'gift');

create table sectors (
  id int primary key,
  name text not null unique
);

create table companies (
  ticker text primary key check (ticker ~ '^[A-Z]{1,5}$'),
  name text not null unique,
  sector_id int not null references sectors,
  listed_on date not null,
  shares_outstanding bigint not null,
  profile jsonb not null
);

create table insiders (
  id bigint primary key,
  full_name text not null,
  ticker text not null references companies,
  title text not null,
  profile jsonb not null
);

create table prices (
  ticker text not null,
  day date not null,
  close numeric(12, 2) not null,
  change_pct numeric(7, 2),
  volume bigint not null,
  primary key (ticker, day)
);

create table insider_transactions (
  id bigint primary key,
  ticker text not null,
  insider_id bigint not null,
  insider_name text not null,
  kind trade_kind not null,
  shares bigint not null check (shares > 0),
  price numeric(12, 2),
  value numeric(16, 2) generated always as (shares * price) stored,
  traded_on date not null,
  filed_at timestamptz not null,
  meta jsonb not null
);

create table holdings (
  insider_id bigint primary key references insiders,
  full_name text not null,
  ticker text not null references companies,
  title text not null,
  shares bigint not null,
  value numeric(16, 2),
  last_filed_at timestamptz not null
);

-- ------------------------------------------------------------ what belongs to one user
create table watchlists (
  id bigint primary key,
  owner uuid not null,
  title text not null,
  is_public boolean not null default false,
  unique (owner, title)
);

create table watchlist_items (
  watchlist_id bigint not null references watchlists on delete cascade,
  ticker text not null references companies,
  position int not null,
  note text,
  primary key (watchlist_id, ticker)
);

alter table watchlists enable row level security;
alter table watchlist_items enable row level security;
create policy own_lists on watchlists to authenticated
  using (owner = (select auth.uid())) with check (owner = (select auth.uid()));
create policy public_lists on watchlists for select to anon, authenticated
  using (is_public);
create policy items_of_visible_lists on watchlist_items for select to anon, authenticated
  using (exists (select from watchlists w where w.id = watchlist_id));
create policy items_of_own_lists on watchlist_items to authenticated
  using (exists (select from watchlists w where w.id = watchlist_id and w.owner = (select auth.uid())))
  with check (exists (select from watchlists w where w.id = watchlist_id and w.owner = (select auth.uid())));

-- ------------------------------------------------------------ what pages read ready-made
create view quotes as
  select c.ticker, c.name, s.name as sector, q.day, q.close, q.change_pct, q.volume,
         (q.close * c.shares_outstanding)::numeric(20, 0) as market_cap
  from companies c
  join sectors s on s.id = c.sector_id
  cross join lateral (select * from prices p where p.ticker = c.ticker order by p.day desc limit 1) q;

create view sector_activity as
  select s.id, s.name,
         count(t.id) filter (where t.kind = 'buy') as buys,
         count(t.id) filter (where t.kind = 'sell') as sells,
         coalesce(sum(t.value) filter (where t.kind = 'buy'), 0) as bought,
         coalesce(sum(t.value) filter (where t.kind = 'sell'), 0) as sold
  from sectors s
  join companies c on c.sector_id = s.id
  left join insider_transactions t on t.ticker = c.ticker
    and t.filed_at >= (select max(day) from prices) - interval '30 days'
  group by s.id, s.name;
