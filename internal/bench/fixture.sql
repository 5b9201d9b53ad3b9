-- One table of ten columns of the usual types, which row level security opens to those who are logged in.
create role authenticator login noinherit password 'authenticator';
create role authenticated nologin;
grant authenticated to authenticator;
create role reader login noinherit password 'reader';

create table public.filings (
	id       bigint primary key,
	ref      uuid not null,
	title    text not null,
	price    numeric(12, 2) not null,
	tags     text[] not null,
	detail   jsonb not null,
	filed_at timestamptz not null,
	late     boolean not null,
	score    double precision not null,
	quantity integer not null
);
insert into public.filings
select i, ('a0eebc99-9c0b-4ef8-bb6d-' || lpad(i::text, 12, '0'))::uuid, 'Insider bought ' || i || ' shares', 100 + i / 4.0,
	array['form4', 'open market', 'ceo'], jsonb_build_object('form', '4', 'lines', array[1, 2, 3]),
	timestamptz '2026-02-28 04:14:15.123456+00' + i * interval '1 minute', i % 2 = 0, i + 0.25, i
from generate_series(1, 1000) as i;
analyze public.filings;

alter table public.filings enable row level security;
grant select on public.filings to authenticated;
create policy own on public.filings for select to authenticated
	using ((select current_setting('request.jwt.claims', true)::json ->> 'sub') = '11111111-1111-1111-1111-111111111111');
grant select on public.filings to reader;
create policy reads on public.filings for select to reader using (true);
