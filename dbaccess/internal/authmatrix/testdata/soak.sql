-- Rows of eight users, five each, and witnesses of what must not happen to them.

create table public.notes (
  id int primary key,
  owner uuid not null,
  slot int not null,
  note text not null,
  unique (owner, slot)
);
insert into public.notes
select 10 * u + s, ('00000000-0000-0000-0000-00000000000' || u)::uuid, s, u || ': seed'
from generate_series(1, 8) u, generate_series(1, 5) s;
alter table public.notes enable row level security;
create policy own on public.notes to authenticated using (owner = auth.uid()) with check (owner = auth.uid());
grant select, insert, update, delete on public.notes to anon, authenticated, service_role;

-- Who changes a row of another is written down by a function with its owner's rights.
create table public.strangers (owner uuid, uid uuid, role text);
create function public.witness() returns trigger security definer set search_path = '' language plpgsql as $$
begin
  if new.owner is distinct from auth.uid() or current_setting('role') <> 'authenticated' then
    insert into public.strangers values (new.owner, auth.uid(), current_setting('role'));
  end if;
  return new;
end $$;
create trigger witness before insert or update on public.notes for each row execute function public.witness();

-- What only the commit finds.
create table public.tails (id int primary key, head int references public.notes deferrable initially deferred);
grant all on public.tails to anon, authenticated, service_role;

create function public.nap(seconds float8) returns text language plpgsql as $$
begin perform pg_sleep(seconds); return current_user || ' ' || coalesce(auth.uid()::text, 'nobody'); end $$;
