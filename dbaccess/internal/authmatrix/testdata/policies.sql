-- What the golden fixture lacks of the ways in which a database decides who may do what.
-- It is loaded behind testdata/golden/fixture.sql, as superuser.

do $$
begin
  if not exists (select from pg_roles where rolname = 'twinpath_auditor') then
    create role twinpath_auditor nologin noinherit;
  end if;
end $$;
-- A role with settings of its own, which SET ROLE does not apply, and few grants.
alter role twinpath_auditor set lock_timeout = '3s';
alter role twinpath_auditor set timezone = 'Asia/Seoul';
grant twinpath_auditor to authenticator;
grant usage on schema public, auth, private_api to twinpath_auditor;
grant select on public.companies, public.watchlists, public.prices to twinpath_auditor;
grant select (id, full_name) on public.insiders to twinpath_auditor;
grant select (id, ticker, kind, note), update (note) on public.insider_transactions to twinpath_auditor;
grant insert (code, name), select (code) on public.indexes to twinpath_auditor;
create policy audit on public.watchlists for select to twinpath_auditor using (not is_public);

-- By the settings that a request makes.
create table public.by_settings (
  id int primary key generated always as identity,
  needs text not null,
  seen timestamptz not null default '2026-01-01 00:00:00+00'
);
insert into public.by_settings (needs) values ('role setting'), ('method'), ('path'), ('read only'), ('search path'), ('login'), ('nobody');
alter table public.by_settings enable row level security;
create policy by_setting on public.by_settings using (case needs
    when 'role setting' then current_setting('lock_timeout') = '3s'
    when 'method' then current_setting('request.method') = 'GET'
    when 'path' then current_setting('request.path') = '/by_settings'
    when 'read only' then current_setting('transaction_read_only')::bool
    when 'search path' then current_setting('search_path') = '"public", "public"'
    when 'login' then current_user <> session_user
    else false end)
  with check (true);
grant select, insert, update, delete on public.by_settings to anon, authenticated, service_role, twinpath_auditor;

-- By the claims, deep ones too.
create table public.by_claims (
  id int primary key,
  role text not null,
  org text,
  tags text[] not null default '{}'
);
insert into public.by_claims values (1, 'anon', null, '{}'), (2, 'authenticated', 'acme', '{}'), (3, 'authenticated', 'umbrella', '{}'),
  (4, 'service_role', null, '{}'), (5, 'twinpath_auditor', null, '{}'), (6, 'authenticated', null, '{admin}');
alter table public.by_claims enable row level security;
alter table public.by_claims force row level security;
create policy by_role on public.by_claims using (
  role = auth.role() and (org is null or org = auth.jwt() -> 'app_metadata' ->> 'org')
  and (tags = '{}' or auth.jwt() -> 'app_metadata' -> 'tags' ?| tags));
grant all on public.by_claims to anon, authenticated, service_role, twinpath_auditor;

-- Two permissive policies and a restrictive one.
create table public.by_three (id int primary key, owner uuid not null, locked bool not null default false, note text);
insert into public.by_three select g, case g % 2 when 0 then '11111111-1111-1111-1111-111111111111' else '22222222-2222-2222-2222-222222222222' end::uuid, g % 3 = 0, 'n' || g
  from generate_series(1, 12) g;
alter table public.by_three enable row level security;
create policy own on public.by_three using (owner = auth.uid());
create policy everybody_reads on public.by_three for select using (id > 10);
create policy unlocked on public.by_three as restrictive for update using (not locked) with check (not locked);
grant select, insert, update, delete on public.by_three to authenticated, service_role;
grant select on public.by_three to anon;

-- Row level security without a policy.
create table public.by_nobody (id int primary key, note text default 'none');
insert into public.by_nobody values (1);
alter table public.by_nobody enable row level security;
grant all on public.by_nobody to anon, authenticated, service_role, twinpath_auditor;

-- A trigger that knows who writes, and one that refuses.
create table public.by_trigger (id int primary key, note text, written_by text, as_role text, method text);
insert into public.by_trigger values (1, 'seed');
create function public.stamp() returns trigger language plpgsql as $$
begin
  if coalesce(auth.jwt() ->> 'sub', '') like '2222%' then
    raise exception using errcode = 'P0001', message = 'not you';
  end if;
  new.written_by := auth.jwt() ->> 'sub';
  new.as_role := current_user || ' ' || auth.role();
  new.method := current_setting('request.method');
  return new;
end $$;
create trigger stamp before insert or update on public.by_trigger for each row execute function public.stamp();
grant all on public.by_trigger to anon, authenticated, service_role;

-- Views: with the rights of their owner, who bypasses every policy, and with those of the caller.
create view public.lists_of_owner as select id, owner, title from public.watchlists;
create view public.lists_of_invoker with (security_invoker) as select id, owner, title from public.watchlists;
grant select, insert, update, delete on public.lists_of_invoker to anon, authenticated, service_role, twinpath_auditor;
grant select on public.lists_of_owner to authenticated;

-- The same name in both schemas, with other rights.
create table private_api.watchlists (id int primary key, owner uuid not null, title text not null);
insert into private_api.watchlists values (1, '11111111-1111-1111-1111-111111111111', 'in private'), (2, '22222222-2222-2222-2222-222222222222', 'in private too');
alter table private_api.watchlists enable row level security;
create policy own on private_api.watchlists using (owner = auth.uid()) with check (owner = auth.uid());
grant all on private_api.watchlists to authenticated, service_role;

-- Functions: as their owner, as the caller, for few, reading settings, writing where they must not.
create function public.all_lists() returns setof public.watchlists stable security definer set search_path = '' language sql as
  $$ select * from public.watchlists order by id $$;
create function public.my_lists() returns setof public.watchlists stable language sql as $$ select * from public.watchlists order by id $$;
create function public.rename_lists(title text) returns setof public.watchlists language sql as
  $$ update public.watchlists w set title = rename_lists.title || w.id returning * $$;
create function public.rename_all_lists(title text) returns bigint security definer set search_path = '' language sql as
  $$ with r as (update public.watchlists w set title = rename_all_lists.title || w.id returning 1) select count(*) from r $$;
create function public.drop_secrets() returns void language sql as $$ delete from public.secrets $$;
create function public.for_service() returns int language sql as $$ select 1 $$;
revoke execute on function public.for_service() from public;
grant execute on function public.for_service() to service_role;
create function public.settings() returns jsonb stable language sql as $$
  select jsonb_build_object('user', current_user, 'role', current_setting('role'), 'claims', auth.jwt(), 'path', current_setting('request.path'),
    'method', current_setting('request.method'), 'search_path', current_setting('search_path'), 'read_only', current_setting('transaction_read_only'),
    'lock_timeout', current_setting('lock_timeout'), 'timezone', current_setting('timezone')) $$;
create function public.lying() returns int stable language sql as $$ select id from public.by_trigger order by id limit 1 $$;
create function public.stable_write() returns void stable language plpgsql as $$ begin execute 'delete from public.by_three'; end $$;
create function public.write_behind_stable() returns void stable language sql as $$ select public.drop_secrets() $$;
create function public.become(whom text) returns text language plpgsql as $$ begin perform set_config('role', whom, true); return current_user; end $$;
create function public.refuse() returns void language plpgsql as $$ begin raise sqlstate 'PT403' using message = 'no', hint = 'ask'; end $$;
create function private_api.whose() returns text stable language sql as $$ select current_user || ' ' || coalesce(auth.uid()::text, 'nobody') $$;
