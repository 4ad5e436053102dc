-- One rule for names: `thing` is what everybody reads, `thing_rows` holds one record a row, `thing_packs` many, and `x_templates` is content that is
-- kept once and referred to. Nothing but names changes; functions and views say them too.
create temp table renamed (was text primary key, name text not null, is_table boolean not null default true) on commit drop;
insert into renamed (was, name) values
  ('ledger_entries', 'ledger_rows'), ('posting_batches', 'ledger_packs'),
  ('posting_shapes', 'posting_templates'), ('posting_shape_entries', 'posting_template_entries'),
  ('events', 'event_rows'), ('issued_events', 'event_packs'),
  ('usage_entries', 'usage_rows'), ('usage_batches', 'usage_packs'),
  ('invoice_shapes', 'invoice_templates'), ('shape_charges', 'invoice_template_charges'), ('shape_taxes', 'invoice_template_taxes');
insert into renamed (was, name, is_table) values
  ('shape_id', 'template_id', false), ('shape_ids', 'template_ids', false), ('posting_shape_id', 'posting_template_id', false),
  ('held_from', 'pack_id', false), ('cycle_on', 'due_in_cycle_on', false);

do $$
declare
  one record;
  word record;
  text_was text;
  text_of text;
begin
  for one in select t.relname, r.name from pg_class t join renamed r on r.was = t.relname and r.is_table
              where t.relnamespace = 'perennial'::regnamespace and t.relkind = 'r' loop
    execute format('alter table perennial.%I rename to %I', one.relname, one.name);
  end loop;

  for one in select c.relname as relation, a.attname as was, r.name from pg_attribute a join pg_class c on c.oid = a.attrelid
               join renamed r on r.was = a.attname and not r.is_table
              where c.relnamespace = 'perennial'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped loop
    execute format('alter table perennial.%I rename column %I to %I', one.relation, one.was, one.name);
  end loop;
  alter table perennial.event_packs rename column places to record_index;

  -- Constraints first: an index of a constraint goes with it. The longest name wins, so that shape_charges_shape_fkey is not taken for another's.
  for one in select k.conname as was, c.relname as relation, r.name || substr(k.conname, length(r.was) + 1) as name
               from pg_constraint k join pg_class c on c.oid = k.conrelid join renamed r on r.is_table and r.name = c.relname
              where c.relnamespace = 'perennial'::regnamespace and k.contype <> 'n' and k.conname like replace(r.was, '_', '\_') || '\_%' loop
    execute format('alter table perennial.%I rename constraint %I to %I', one.relation, one.was, one.name);
  end loop;
  alter table perennial.invoice_template_charges rename constraint invoice_template_charges_shape_fkey to invoice_template_charges_template_fkey;
  alter table perennial.invoice_template_taxes rename constraint invoice_template_taxes_shape_fkey to invoice_template_taxes_template_fkey;
  alter table perennial.invoices rename constraint invoices_shape to invoices_template;
  for one in select c.relname as was, r.name || substr(c.relname, length(r.was) + 1) as name
               from pg_class c join pg_index i on i.indexrelid = c.oid join pg_class t on t.oid = i.indrelid join renamed r on r.is_table and r.name = t.relname
              where c.relnamespace = 'perennial'::regnamespace and c.relname like replace(r.was, '_', '\_') || '\_%' loop
    execute format('alter index perennial.%I rename to %I', one.was, one.name);
  end loop;
  for one in select s.relname as was, r.name || substr(s.relname, length(r.was) + 1) as name
               from pg_class s join pg_depend d on d.objid = s.oid and d.classid = 'pg_class'::regclass and d.deptype in ('i', 'a')
               join pg_class t on t.oid = d.refobjid join renamed r on r.is_table and r.name = t.relname
              where s.relkind = 'S' and s.relnamespace = 'perennial'::regnamespace and s.relname like replace(r.was, '_', '\_') || '\_%' loop
    execute format('alter sequence perennial.%I rename to %I', one.was, one.name);
  end loop;

  -- Texts of functions. "events" is a word of texts too: it is the table where it is quoted, or read or written.
  for one in select p.oid from pg_proc p where p.pronamespace = 'perennial'::regnamespace and p.prokind = 'f' loop
    text_was := pg_get_functiondef(one.oid);
    text_of := replace(text_was, '''events''', '''event_rows''');
    text_of := replace(text_of, '''perennial.events''', '''perennial.event_rows''');
    text_of := regexp_replace(text_of, '\m(update|from|join|into) events\M', '\1 event_rows', 'g');
    for word in select * from renamed where was <> 'events' loop
      text_of := regexp_replace(text_of, '\m' || word.was || '\M', word.name, 'g');
    end loop;
    if text_of <> text_was then execute text_of; end if;
  end loop;

  -- Views follow their tables and columns alone; the words inside do not.
  for one in select c.relname from pg_class c where c.relnamespace = 'perennial'::regnamespace and c.relname in ('charges', 'invoice_taxes', 'ledger') loop
    text_of := pg_get_viewdef(('perennial.' || one.relname)::regclass);
    for word in select * from renamed where not is_table loop
      text_of := regexp_replace(text_of, '\m' || word.was || '\M', word.name, 'g');
    end loop;
    execute format('create or replace view perennial.%I with (security_invoker = true) as %s', one.relname, text_of);
  end loop;
end $$;

-- Lists are named by their tables.
update counted_lists l set list = r.name from renamed r where r.was = l.list;
update list_watermarks l set list = r.name from renamed r where r.was = l.list;
update list_blocks l set list = r.name from renamed r where r.was = l.list;
