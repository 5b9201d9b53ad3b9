-- The shapes of relationships that the golden fixture lacks.
create type public.address as (street text, zip text);
create table public.people (id int primary key, name text, boss int references public.people, home public.address, tags text[], doc json, props jsonb, words tsvector);
create table public.bios (person int primary key references public.people, bio text);
create table public.orders (region text, no int, person int references public.people, note text, primary key (region, no));
create table public.lines (id int primary key, no int, region text, amount numeric, foreign key (region, no) references public.orders (region, no));
create table public.groups (id int primary key, name text);
create table public.members (person int references public.people, "group" int references public.groups, since date, primary key (person, "group"));
create view public.people_view as select id as person, name, boss as superior from public.people;
create function public.rich_orders(p public.people) returns setof public.orders language sql stable as
  $$ select o.* from public.orders o where o.person = p.id and o.no > 1 $$;
create function public.first_order(p public.people) returns setof public.orders language sql stable rows 1 as
  $$ select o.* from public.orders o where o.person = p.id order by o.no limit 1 $$;

-- The alias of people, embedded at the first level, is people_1 unless that is taken.
create table public.people_1 (id int primary key, person int references public.people, people text);
-- A name that no suffix fits behind.
create table public.a23456789012345678901234567890123456789012345678901234567890123 (id int primary key, up int references public.a23456789012345678901234567890123456789012345678901234567890123);

insert into public.people values
  (1, 'Ann', null, ('Main St', '1'), '{a,b}', '{"b": 1.50,  "a": 2, "b": [10, 20]}', '{"k": {"l": [7, 8]}}', 'cat:1'),
  (2, 'Bob', 1, null, '{}', null, '{"k": 1e400}', 'dog:1'),
  (3, null, 1, ('Side St', null), null, '{}', null, null),
  (4, 'Dan', 2, null, '{c}', '[1]', '{}', 'cats:1');
insert into public.bios values (1, 'about Ann'), (3, null);
insert into public.orders values ('eu', 1, 1, 'x'), ('eu', 2, 1, 'y'), ('us', 1, 2, null), ('us', 9, null, 'nobody');
insert into public.lines values (10, 1, 'eu', 1.50), (11, 1, 'eu', 2.25), (12, 2, 'eu', 3), (13, 1, 'us', 4), (14, null, 'us', 5);
insert into public.groups values (1, 'g1'), (2, 'g2'), (3, null);
insert into public.members values (1, 1, '2026-01-01'), (1, 2, '2026-01-02'), (2, 1, '2026-01-03');
insert into public.people_1 values (1, 2, 'shadow'), (2, null, 'none');
insert into public.a23456789012345678901234567890123456789012345678901234567890123 values (1, null), (2, 1), (3, 1);
