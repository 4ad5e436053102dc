/*
 * Words by which customers, invoices, subscriptions, payments and credit notes are found: small letters without accents and signs, in the order of
 * bytes, so that those that begin alike stand together. By lists (src/features/customers/word-queries.ts) and blocks of 4,096 identifiers: a search
 * goes from block to block and stops when its page is full, however many records bear the word and wherever they are. It takes the place of the
 * table of customers' words, whose words are made anew: what stands between signs is found from there to its end (`post.example` in an address).
 */
drop function search_customers;
drop table customer_words;

create table record_words (
  account_id bigint not null references accounts (account_id),
  list smallint not null,
  block integer not null,
  word text collate "C" not null,
  record_id bigint not null,
  primary key (account_id, list, block, word, record_id)
);
alter table record_words enable row level security;
create policy account on record_words to perennial_app
  using (account_id = current_setting('app.account_id')::bigint) with check (account_id = current_setting('app.account_id')::bigint);
grant select, insert, delete on record_words to perennial_app;

/*
 * Finds records of a list that bear, for each range of words, a word in it: in the order of identifiers or the other way round, after those that are
 * passed over, as many as are wanted (null: all). Of ranges there are five at most.
 */
create function search_records(account bigint, of_list smallint, lows text[], highs text[], is_newest_first boolean, passed_over bigint, wanted bigint)
  returns setof bigint language plpgsql stable set search_path = perennial, pg_temp set enable_seqscan = off as $$
declare
  step integer := case when is_newest_first then -1 else 1 end;
  next_block integer;
  last_block integer;
  found bigint[];
  seen bigint := 0;
begin
  select min(w.block), max(w.block) into next_block, last_block from record_words w where w.account_id = account and w.list = of_list;
  if is_newest_first then
    select last_block, next_block into next_block, last_block;
  end if;
  while wanted is null or seen < passed_over + wanted loop
    -- A subquery that is limited stays one: blocks are looked at one after the other, up to the first that has them all.
    select b.block into next_block from generate_series(next_block, last_block, step) as b(block)
     where (select true from record_words w where w.account_id = account and w.list = of_list and w.block = b.block
              and w.word >= lows[1] collate "C" and w.word < highs[1] collate "C" limit 1)
         and (cardinality(lows) < 2 or (select true from record_words w where w.account_id = account and w.list = of_list and w.block = b.block
              and w.word >= lows[2] collate "C" and w.word < highs[2] collate "C" limit 1))
         and (cardinality(lows) < 3 or (select true from record_words w where w.account_id = account and w.list = of_list and w.block = b.block
              and w.word >= lows[3] collate "C" and w.word < highs[3] collate "C" limit 1))
         and (cardinality(lows) < 4 or (select true from record_words w where w.account_id = account and w.list = of_list and w.block = b.block
              and w.word >= lows[4] collate "C" and w.word < highs[4] collate "C" limit 1))
         and (cardinality(lows) < 5 or (select true from record_words w where w.account_id = account and w.list = of_list and w.block = b.block
              and w.word >= lows[5] collate "C" and w.word < highs[5] collate "C" limit 1))
     limit 1;
    exit when next_block is null;
    select coalesce(array_agg(m.record_id order by m.record_id * step), '{}') into found
      from (select d.record_id from (
              select distinct r.place, w.record_id from unnest(lows, highs) with ordinality as r(low, high, place)
                join record_words w on w.account_id = account and w.list = of_list and w.block = next_block
                 and w.word >= r.low collate "C" and w.word < r.high collate "C") d
             group by d.record_id having count(*) = cardinality(lows)) m;
    if seen + cardinality(found) > passed_over then
      return query select f.id from unnest(found) with ordinality as f(id, place)
        where seen + f.place > passed_over and (wanted is null or seen + f.place <= passed_over + wanted) order by f.place;
    end if;
    seen := seen + cardinality(found);
    next_block := next_block + step;
  end loop;
end $$;
revoke all on function search_records from public;
grant execute on function search_records to perennial_app;

/* The words of the records of before, as src/kernel/words.ts makes them of those from now on. */
do $$
declare
  -- One that knows the letters of all scripts, where there is one.
  letters text := coalesce((select c.collname from pg_collation c where c.collname in ('pg_c_utf8', 'und-x-icu') order by c.collname limit 1), 'default');
begin
  execute format($fill$
    insert into record_words (account_id, list, block, word, record_id)
    select distinct o.account_id, o.list, o.id / 4096, left(p.word, 40), o.id
      from (select c.account_id, 1 as list, c.customer_id as id, array[c.name, c.last_name, c.company, c.reference, c.email, c.vat_number, c.tel, c.cell, c.fax,
                regexp_replace(c.vat_number, '\s', '', 'g'), regexp_replace(c.tel, '\D', '', 'g'), regexp_replace(c.cell, '\D', '', 'g'), regexp_replace(c.fax, '\D', '', 'g')] as texts from customers c
            union all select i.account_id, 2, i.invoice_id, array[i.reference, i.po_number] from invoices i
                where i.reference is not null or i.po_number is not null
            union all select s.account_id, 3, s.subscription_id, array[s.reference] from subscriptions s where s.reference is not null
            union all select m.account_id, 4, m.payment_id, array[m.ref] from payments m where m.ref is not null
            union all select n.account_id, 5, n.negative_adjustment_id, array[n.ref] from negative_adjustments n where n.kind = 'credit_note') o
      cross join lateral unnest(o.texts) as t(text)
      cross join lateral (select replace(replace(replace(replace(replace(regexp_replace(lower(normalize(t.text, NFKD) collate %1$I),
        '[\u0300-\u036f]', '', 'g'), 'ß', 'ss'), 'ø', 'o'), 'æ', 'ae'), 'œ', 'oe'), 'ł', 'l') as plain) n
      cross join lateral regexp_split_to_table(n.plain, '\s+') as s(token)
      cross join lateral (select regexp_split_to_array(s.token collate %1$I, '[^[:alnum:]]+') as list) parts
      cross join lateral (select array_to_string(parts.list[place:], '') as word from generate_series(1, cardinality(parts.list)) as place) p
     where p.word <> ''
  $fill$, letters);
end $$;
