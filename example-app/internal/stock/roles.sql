-- Roles and helper functions as a Supabase project has them. What exists is left as it is.

do $$
declare
  r text[];
begin
  foreach r slice 1 in array array[
    ['anon', ''], ['authenticated', ''], ['service_role', 'bypassrls']
  ] loop
    if not exists (select from pg_roles where rolname = r[1]) then
      begin
        execute format('create role %I nologin noinherit %s', r[1], r[2]);
      exception when duplicate_object or unique_violation then
        null; -- another database's demo was faster: roles belong to all of them
      end;
    end if;
  end loop;

  if to_regnamespace('auth') is null then
    create schema auth;
    grant usage on schema auth to anon, authenticated, service_role;
  end if;
  if to_regprocedure('auth.jwt()') is null then
    create function auth.jwt() returns jsonb stable language sql as
      $f$ select nullif(current_setting('request.jwt.claims', true), '')::jsonb $f$;
  end if;
  if to_regprocedure('auth.uid()') is null then
    create function auth.uid() returns uuid stable language sql as
      $f$ select nullif(nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub', '')::uuid $f$;
  end if;
end $$;
