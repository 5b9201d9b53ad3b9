-- One row, one column: the catalog document. $1 is a JSON array of the exposed schemas, $2 one of the
-- schemas of db-extra-search-path.
--
-- The innermost select empties search_path, so that format_type, pg_get_expr and regclass write every
-- name outside pg_catalog with its schema, and the outermost puts it back; the data dependencies between
-- the three levels fix the order.
select case when pg_catalog.set_config('search_path', q.path, true) is not null then q.doc end
from (
  select pre.path, body.doc
  from (
    select p.path, pg_catalog.set_config('search_path', pg_catalog."left"(p.path, 0), true) as emptied
    from (select pg_catalog.current_setting('search_path') as path offset 0) p
    offset 0
  ) pre
  cross join lateral (
    with recursive
    exposed as materialized (
      select n.oid, n.nspname
      from pg_catalog.pg_namespace n
      where n.nspname = any (array(
        select e.name::pg_catalog.name from pg_catalog.json_array_elements_text($1::pg_catalog.json) as e (name)))
    ),
    -- Schemas whose views may stand between an exposed view and its tables.
    traversed as materialized (
      select n.oid, n.nspname
      from pg_catalog.pg_namespace n
      where n.nspname = any (array(
        select e.name::pg_catalog.name from pg_catalog.json_array_elements_text($1::pg_catalog.json) as e (name)
        union all
        select e.name::pg_catalog.name from pg_catalog.json_array_elements_text($2::pg_catalog.json) as e (name)))
    ),
    rel as materialized (
      select c.oid, n.nspname, c.relname, c.relkind
      from pg_catalog.pg_class c
      join exposed n on n.oid = c.relnamespace
      where c.relkind in ('r', 'v', 'm', 'f', 'p') and not c.relispartition
    ),
    domain_step (oid, base, typmod) as (
      select t.oid, t.typbasetype, t.typtypmod from pg_catalog.pg_type t where t.typtype = 'd'
      union all
      select d.oid, t.typbasetype, t.typtypmod
      from domain_step d
      join pg_catalog.pg_type t on t.oid = d.base
      where t.typtype = 'd'
    ),
    domain_base as materialized (
      select d.oid, d.base, d.typmod
      from domain_step d
      join pg_catalog.pg_type t on t.oid = d.base
      where t.typtype <> 'd'
    ),
    col as (
      select a.attrelid, pg_catalog.json_agg(pg_catalog.json_build_object(
        'name', a.attname,
        'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
        'base_type', case when d.oid is not null then pg_catalog.format_type(d.base, d.typmod) end,
        'class', case
          when t.oid = 'pg_catalog.json'::pg_catalog.regtype then 'json'
          when t.oid = 'pg_catalog.jsonb'::pg_catalog.regtype then 'jsonb'
          when t.oid = 'pg_catalog.tsvector'::pg_catalog.regtype then 'tsvector'
          when e.oid is not null then 'array'
          when t.typtype = 'c' then 'composite'
          when t.typtype = 'e' then 'enum'
          when t.typtype = 'r' then 'range'
          when t.typtype = 'm' then 'multirange'
        end,
        'not_null', case when a.attnotnull or (dt.typtype = 'd' and dt.typnotnull) then true end,
        'default', case
          when a.attgenerated <> '' then null
          when a.attidentity = 'd' then pg_catalog.format('nextval(%L)', (
            select s.objid::pg_catalog.regclass
            from pg_catalog.pg_depend s
            where s.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
              and s.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
              and s.refobjid = a.attrelid and s.refobjsubid = a.attnum and s.deptype = 'i'))
          when ad.adbin is null and dt.typtype = 'd' then pg_catalog.pg_get_expr(dt.typdefaultbin, 0)
          else pg_catalog.pg_get_expr(ad.adbin, ad.adrelid)
        end,
        'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
        'generated', case a.attgenerated when 's' then 'stored' when 'v' then 'virtual' end
      ) order by a.attnum) as doc
      from rel
      join pg_catalog.pg_attribute a on a.attrelid = rel.oid and a.attnum > 0 and not a.attisdropped
      join pg_catalog.pg_type dt on dt.oid = a.atttypid
      left join domain_base d on d.oid = a.atttypid
      join pg_catalog.pg_type t on t.oid = coalesce(d.base, a.atttypid)
      left join pg_catalog.pg_type e on e.oid = t.typelem and e.typarray = t.oid
      left join pg_catalog.pg_attrdef ad on ad.adrelid = a.attrelid and ad.adnum = a.attnum
      group by a.attrelid
    ),
    -- Primary and unique keys, and both sides of foreign keys, of any schema.
    key_side as materialized (
      select k.oid, k.conrelid, k.contype, k.conname, k.conkey, k.confrelid, k.confkey,
        case when pg_catalog.cardinality(k.conkey) = 1 then k.conkey
          else array(select u.num from pg_catalog.unnest(k.conkey) as u (num) order by u.num) end as key_set,
        own.columns, ref.columns as ref_columns
      from pg_catalog.pg_constraint k
      join (
        select c.oid, pg_catalog.json_agg(a.attname order by u.n) as columns
        from pg_catalog.pg_constraint c
        cross join lateral pg_catalog.unnest(c.conkey) with ordinality as u (num, n)
        join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = u.num
        where c.contype in ('p', 'u', 'f')
        group by c.oid
      ) own on own.oid = k.oid
      left join (
        select c.oid, pg_catalog.json_agg(a.attname order by u.n) as columns
        from pg_catalog.pg_constraint c
        cross join lateral pg_catalog.unnest(c.confkey) with ordinality as u (num, n)
        join pg_catalog.pg_attribute a on a.attrelid = c.confrelid and a.attnum = u.num
        where c.contype = 'f'
        group by c.oid
      ) ref on ref.oid = k.oid
      -- Partitions repeat the foreign keys of their table.
      where k.contype in ('p', 'u') or k.contype = 'f' and k.conparentid = 0
    ),
    rel_key as (
      select k.conrelid,
        (pg_catalog.array_agg(k.columns) filter (where k.contype = 'p'))[1] as primary_key,
        pg_catalog.json_agg(pg_catalog.json_build_object('name', k.conname, 'columns', k.columns) order by k.conname)
          filter (where k.contype = 'u') as unique_keys
      from key_side k
      where k.contype in ('p', 'u')
      group by k.conrelid
    ),
    tables as (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', rel.nspname,
        'name', rel.relname,
        'kind', case rel.relkind when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
          when 'f' then 'foreign table' when 'p' then 'partitioned table' end,
        'columns', col.doc,
        'primary_key', rel_key.primary_key,
        'unique_keys', rel_key.unique_keys
      )) as doc
      from rel
      left join col on col.attrelid = rel.oid
      left join rel_key on rel_key.conrelid = rel.oid
    ),
    foreign_keys as (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'constraint', f.conname,
        'schema', n.nspname, 'table', c.relname, 'columns', f.columns,
        'ref_schema', rn.nspname, 'ref_table', rc.relname,
        'ref_columns', f.ref_columns,
        'unique', case when (f.conrelid, f.key_set) in (
          select k.conrelid, k.key_set from key_side k where k.contype in ('p', 'u')
        ) then true end
      )) as doc
      from key_side f
      join pg_catalog.pg_class c on c.oid = f.conrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_class rc on rc.oid = f.confrelid
      join pg_catalog.pg_namespace rn on rn.oid = rc.relnamespace
      where f.contype = 'f'
    ),
    key_column as materialized (
      select k.conrelid as relid, u.num
      from key_side k, pg_catalog.unnest(k.conkey) as u (num)
      where k.contype in ('p', 'f')
      union
      select k.confrelid, u.num
      from key_side k, pg_catalog.unnest(k.confkey) as u (num)
      where k.contype = 'f'
    ),
    -- A view's stored query is a tree in text form. Each entry of its target list ends in
    -- ":resno 1 :resname … :resorigtbl 16400 :resorigcol 1 :resjunk false}", where the last two numbers
    -- name the column that it passes on unchanged. The view's own entries are those at brace depth 2;
    -- sublinks, CTEs and subqueries are deeper. Braces inside names are escaped, and dropped first.
    view_piece as (
      select v.oid, u.n, u.piece,
        pg_catalog.sum(pg_catalog.octet_length(pg_catalog.replace(u.piece, '}', ''))
          - pg_catalog.octet_length(pg_catalog.replace(u.piece, '{', '')))
          over (partition by v.oid order by u.n rows between unbounded preceding and 1 preceding) as depth
      from (
        select s.oid, case when pg_catalog.strpos(s.tree, E'\\') = 0 then s.tree
          else pg_catalog.replace(pg_catalog.replace(s.tree, E'\\{', ''), E'\\}', '') end as tree
        from (
          -- The concatenation unpacks the stored text once.
          select c.oid, r.ev_action::pg_catalog.text || '' as tree
          from pg_catalog.pg_class c
          join traversed n on n.oid = c.relnamespace
          join pg_catalog.pg_rewrite r on r.ev_class = c.oid and r.ev_type = '1'
          where c.relkind in ('v', 'm')
          offset 0
        ) s
      ) v
      cross join lateral pg_catalog.unnest(pg_catalog.string_to_array(v.tree, ' :resno ')) with ordinality as u (piece, n)
    ),
    view_entry as materialized (
      select p.oid, pg_catalog.split_part(p.piece, ' ', 1)::pg_catalog.int2 as num,
        p.origin[1]::pg_catalog.oid as base, p.origin[2]::pg_catalog.int2 as base_num
      from (
        select vp.oid, vp.piece, pg_catalog.regexp_match(pg_catalog."left"(vp.piece, 1000),
          ' :resorigtbl ([1-9][0-9]*) :resorigcol ([1-9][0-9]*) ') as origin
        from view_piece vp
        where vp.depth = 2 and vp.n > 1
      ) p
      where p.origin is not null
    ),
    views as (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', n.nspname, 'view', c.relname, 'column', a.attname,
        'from_schema', bn.nspname, 'from_table', bc.relname, 'from_column', ba.attname
      ) order by v.oid, v.num) as doc
      from view_entry v
      join pg_catalog.pg_class c on c.oid = v.oid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = v.oid and a.attnum = v.num
      join pg_catalog.pg_class bc on bc.oid = v.base
      join pg_catalog.pg_namespace bn on bn.oid = bc.relnamespace
      join pg_catalog.pg_attribute ba on ba.attrelid = v.base and ba.attnum = v.base_num
      where bc.relkind in ('v', 'm')
        or (v.base, v.base_num) in (select k.relid, k.num from key_column k)
    ),
    -- Primary keys of tables that only views show.
    hidden_keys as (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', n.nspname, 'table', c.relname, 'columns', k.columns)) as doc
      from key_side k
      join pg_catalog.pg_class c on c.oid = k.conrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where k.contype = 'p'
        and k.conrelid in (select v.base from view_entry v)
        and k.conrelid not in (select r.oid from rel r)
    ),
    functions as (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', n.nspname,
        'name', p.proname,
        'args', (
          select pg_catalog.json_agg(pg_catalog.json_build_object(
            'name', coalesce(x.name, ''),
            'type', pg_catalog.format_type(x.type, null),
            'cast_type', case x.type
              when 'pg_catalog.bit'::pg_catalog.regtype then 'bit varying'
              when 'pg_catalog.bit[]'::pg_catalog.regtype then 'bit varying[]'
              when 'pg_catalog.bpchar'::pg_catalog.regtype then 'character varying'
              when 'pg_catalog.bpchar[]'::pg_catalog.regtype then 'character varying[]'
            end,
            'mode', case x.mode when 'b' then 'inout' when 'v' then 'variadic' end,
            'optional', case when x.idx > p.pronargs - p.pronargdefaults then true end
          ) order by x.idx)
          from (
            select m.type, m.name, m.mode, pg_catalog.row_number() over (order by m.n) as idx
            from rows from (
              pg_catalog.unnest(coalesce(p.proallargtypes, p.proargtypes::pg_catalog.oid[])),
              pg_catalog.unnest(p.proargnames),
              pg_catalog.unnest(p.proargmodes)
            ) with ordinality as m (type, name, mode, n)
            where coalesce(m.mode, 'i') in ('i', 'b', 'v')
          ) x),
        'columns', (
          select pg_catalog.json_agg(pg_catalog.json_build_object(
            'name', coalesce(m.name, ''), 'type', pg_catalog.format_type(m.type, null)) order by m.n)
          from rows from (
            pg_catalog.unnest(p.proallargtypes), pg_catalog.unnest(p.proargnames), pg_catalog.unnest(p.proargmodes)
          ) with ordinality as m (type, name, mode, n)
          where m.mode in ('o', 'b', 't')),
        'returns', pg_catalog.json_build_object(
          'kind', case
            when t.typtype = 'c' or p.proargmodes && '{t,b,o}' then 'composite'
            when t.oid = 'pg_catalog.void'::pg_catalog.regtype and not p.proretset then 'void'
            else 'scalar' end,
          'set', case when p.proretset then true end,
          'type', pg_catalog.format_type(p.prorettype, null),
          'schema', tn.nspname,
          'name', coalesce(tc.relname, t.typname),
          'relation', case when tc.relkind in ('r', 'v', 'm', 'f', 'p') then true end,
          'domain', case when d.oid is not null then true end),
        'volatility', case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
        'settings', (
          select pg_catalog.json_agg(pg_catalog.json_build_object(
            'name', pg_catalog.split_part(s.entry, '=', 1),
            'value', pg_catalog.substr(s.entry, pg_catalog.strpos(s.entry, '=') + 1)) order by s.n)
          from pg_catalog.unnest(p.proconfig) with ordinality as s (entry, n))
      )) as doc
      from pg_catalog.pg_proc p
      join exposed n on n.oid = p.pronamespace
      left join domain_base d on d.oid = p.prorettype
      join pg_catalog.pg_type t on t.oid = coalesce(d.base, p.prorettype)
      join pg_catalog.pg_namespace tn on tn.oid = t.typnamespace
      left join pg_catalog.pg_class tc on tc.oid = t.typrelid
      where p.prokind = 'f'
        and t.oid <> 'pg_catalog.trigger'::pg_catalog.regtype
        -- Without names only a lone argument that can take a whole body is of use.
        and (p.proargnames is not null or p.pronargs = 0 or p.pronargs = 1 and p.proargtypes[0] in (
          'pg_catalog.bytea'::pg_catalog.regtype, 'pg_catalog.json'::pg_catalog.regtype, 'pg_catalog.jsonb'::pg_catalog.regtype,
          'pg_catalog.text'::pg_catalog.regtype, 'pg_catalog.xml'::pg_catalog.regtype))
    ),
    -- Functions from one row of a relation to rows of a relation.
    computed as (
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'schema', n.nspname, 'function', p.proname,
        'from_schema', an.nspname, 'from_table', ac.relname,
        'to_schema', rn.nspname, 'to_table', rc.relname,
        'to_one', case when not p.proretset or p.prorows = 1 then true end
      )) as doc
      from pg_catalog.pg_proc p
      join exposed n on n.oid = p.pronamespace
      join pg_catalog.pg_type at on at.oid = p.proargtypes[0]
      join pg_catalog.pg_class ac on ac.oid = at.typrelid and ac.relkind in ('r', 'v', 'm', 'f', 'p')
      join exposed an on an.oid = ac.relnamespace
      join pg_catalog.pg_type rt on rt.oid = p.prorettype
      join pg_catalog.pg_class rc on rc.oid = rt.typrelid and rc.relkind in ('r', 'v', 'm', 'f', 'p')
      join exposed rn on rn.oid = rc.relnamespace
      where p.pronargs = 1
    )
    select pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
      'format', 1,
      'server_version', pg_catalog.current_setting('server_version_num')::pg_catalog.int4,
      'schemas', $1::pg_catalog.json,
      'extra_schemas', $2::pg_catalog.json,
      'tables', (select tables.doc from tables),
      'foreign_keys', (select foreign_keys.doc from foreign_keys),
      'view_columns', (select views.doc from views),
      'hidden_keys', (select hidden_keys.doc from hidden_keys),
      'functions', (select functions.doc from functions),
      'computed', (select computed.doc from computed)
    ))::pg_catalog.text as doc
    where pre.emptied is not null
  ) body
  offset 0
) q
