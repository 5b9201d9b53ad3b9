-- Every shape that the catalog has to tell apart and the golden fixture lacks.
create schema hidden;
create schema extra;

-- Composite keys, one-to-one, a self one-to-one, two foreign keys to one table.
create table public.orders (region text, no int, note text, primary key (region, no));
create table public.lines (id int primary key, order_no int, order_region text,
  constraint lines_order_fkey foreign key (order_region, order_no) references public.orders (region, no));
create table public.invoices (region text not null, no int not null, total numeric(10, 2),
  constraint invoices_order_fkey foreign key (no, region) references public.orders (no, region), unique (region, no));
create table public.people (id int primary key, name text, spouse_id int unique references public.people,
  mentor_id int constraint people_mentor_fkey references public.people);
create table public.messages (id int primary key,
  sender_id int constraint messages_sender_fkey references public.people,
  receiver_id int constraint messages_receiver_fkey references public.people);

-- A junction of a table with itself, and one of three tables.
create table public.friendships (
  a int constraint friendships_a_fkey references public.people, b int constraint friendships_b_fkey references public.people,
  primary key (a, b));
create table public.teams (id int primary key);
create table public.rooms (id int primary key);
create table public.bookings (
  person_id int references public.people, team_id int references public.teams, room_id int references public.rooms,
  primary key (person_id, team_id, room_id));
create table public.cleanings (
  person_id int constraint cleaner_fkey references public.people, room_id int constraint cleaned_fkey references public.rooms,
  day date, primary key (day, room_id, person_id));
create table public.visits (id int primary key, person_id int references public.people, room_id int references public.rooms);

-- Views: renamed columns, a column twice, over views, joins, CTEs and subqueries with target lists of
-- their own, unions, expressions, names that the stored tree escapes, and views of hidden tables.
create view public.people_view as select id as person, id as person_again, name, mentor_id as mentor from public.people;
create view public.people_view_view as select person as p, upper(name) as name from public.people_view;
create view extra.between as select id as m, sender_id as s from public.messages;
create view public.messages_view as select m as message, s as from_person from extra.between;
create view hidden.unseen as select id as m, sender_id as s from public.messages;
create view public.messages_lost as select m as message, s as from_person from hidden.unseen;
create view public.lines_view as
  with c as (select l.*, row_number() over (order by l.id) as n from public.lines l)
  select c.id as line, c.order_no as no, c.order_region as region,
    (select count(*) from (select id from public.people where id = c.id) x) as people, o.note
  from c left join public.orders o on o.no = c.order_no and o.region = c.order_region
  where exists (select id from public.teams where teams.id = c.id);
create view public.half_lines as select id as line, order_no as no from public.lines;
create view public.united as select id, mentor_id from public.people union all select id, mentor_id from public.people;
create view public.computed_ids as select id + 0 as id, mentor_id::bigint as mentor_id from public.people;
create table public."Odd{(T" ("a } b" int primary key, "c\d" int references public.people, "{" text);
create view public."Odd) V" as select "c\d" as "x{ }y", "{", "a } b" as ":resno 9 :resname" from public."Odd{(T";
create materialized view public.friends as select a as friend, b as other from public.friendships;
create table hidden.parents (id int primary key);
create table hidden.children (id int primary key, parent_id int constraint children_parent_fkey references hidden.parents);
create view public.parents as select * from hidden.parents;
create view public.children as select * from hidden.children;

-- Kinds of relations and columns.
create table public.measures (at date not null, v int, person_id int references public.people, primary key (at)) partition by range (at);
create table public.measures_2026 partition of public.measures for values from ('2026-01-01') to ('2027-01-01');
create foreign data wrapper nothing;
create server nowhere foreign data wrapper nothing;
create foreign table public.remote (id int) server nowhere;
create type public.address as (street text, zip text);
create type public."Mood (x)" as enum ('ok', 'bad');
create domain public.email as text default 'nobody@example.org' check (value like '%@%');
create domain public.work_email as public.email not null;
create domain public.payload as jsonb;
create function hidden.next_code() returns text language sql as $$ select 'x' $$;
create table public.kinds (
  id int generated always as identity primary key,
  by_default int generated by default as identity,
  serial serial,
  twice int generated always as (by_default * 2) stored,
  code text default hidden.next_code(),
  char5 character(5), bits bit(4), price numeric(12, 4), at timestamp(3) with time zone,
  home public.address, homes public.address[], mood public."Mood (x)", moods public."Mood (x)"[],
  mail public.email, work public.work_email, payload public.payload, doc json, docs jsonb[],
  words tsvector, during tstzrange, spans int4multirange, matrix int[][],
  own_mail public.email default 'own@example.org', gone int, last "char"
);
alter table public.kinds drop column gone;

-- Functions.
create function public.over(a int) returns int language sql immutable as $$ select a $$;
create function public.over(a int, b int) returns int language sql immutable as $$ select a $$;
create function public.over(a int, b text) returns int language sql immutable as $$ select a $$;
create function public.over(x text, y text default '', z text default '') returns int language sql immutable as $$ select 1 $$;
create function public.late(a int default 1, b int default 2) returns int language sql as $$ select 1 $$;
create function public.sum_all(label text, variadic xs int[]) returns bigint language sql as $$ select 1::bigint $$;
create function public.with_out(in a int, out b int, inout c text) language sql as $$ select 1, c $$;
create function public.one_out(out b int) language sql as $$ select 1 $$;
create function public.cut(a character(3), b bit(3), c character(3)[]) returns void language sql as $$ select $$;
create function public.body(json) returns json language sql as $$ select $1 $$;
create function public.body(text) returns text language sql as $$ select $1 $$;
create function public.body(bytea) returns bytea language sql as $$ select $1 $$;
create function public.named_body(doc jsonb) returns jsonb language sql as $$ select doc $$;
create function public.any_body(json) returns json language sql as $$ select $1 $$;
create function public.any_body(jsonb) returns jsonb language sql as $$ select $1 $$;
create function public.nameless(int) returns int language sql as $$ select $1 $$;
create function public.nameless_two(int, int) returns int language sql as $$ select $1 $$;
create function public.on_change() returns trigger language plpgsql as $$ begin return new; end $$;
create procedure public.proc() language sql as $$ select 1 $$;
create function public.slow() returns void language sql set statement_timeout = '5s' set search_path = public, extra as $$ select $$;
create function public.mail() returns public.email language sql as $$ select 'a@b' $$;
create function public.addresses() returns setof public.address language sql as $$ select ('', '')::public.address $$;
create function public.recs() returns setof record language sql as $$ select 1, 2 $$;

-- Computed relationships.
create function public.best_friend(p public.people) returns public.people language sql stable as $$ select p $$;
create function public.all_rooms(p public.people) returns setof public.rooms language sql stable as $$ select * from public.rooms $$;
create function public.one_room(p public.people) returns setof public.rooms language sql stable rows 1 as $$ select * from public.rooms $$;
create function public.orders(l public.lines) returns setof public.orders language sql stable rows 1 as $$ select * from public.orders $$;
