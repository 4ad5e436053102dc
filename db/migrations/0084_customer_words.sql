/*
 * Words of customers, by which they are found: small letters without accents and signs, in the order of bytes, so that those that begin alike stand
 * together. By blocks of 4,096 identifiers, as lists are counted: a search goes from block to block and stops when its page is full, however
 * many customers bear the word and wherever they are.
 */
create table customer_words (
  account_id bigint not null references accounts (account_id),
  block integer not null,
  word text collate "C" not null,
  customer_id bigint not null,
  primary key (account_id, block, word, customer_id)
);
alter table customer_words enable row level security;
create policy account on customer_words to perennial_app
  using (account_id = current_setting('app.account_id')::bigint) with check (account_id = current_setting('app.account_id')::bigint);
grant select, insert, delete on customer_words to perennial_app;

/*
 * Finds customers that bear, for each range of words, a word in it: in the order of identifiers or the other way round, after those that are
 * passed over, as many as are wanted (null: all). Of ranges there are five at most.
 */
create function search_customers(account bigint, lows text[], highs text[], is_newest_first boolean, passed_over bigint, wanted bigint)
  returns setof bigint language plpgsql stable set search_path = perennial, pg_temp set enable_seqscan = off as $$
declare
  step integer := case when is_newest_first then -1 else 1 end;
  next_block integer;
  last_block integer;
  found bigint[];
  seen bigint := 0;
begin
  select min(w.block), max(w.block) into next_block, last_block from customer_words w where w.account_id = account;
  if is_newest_first then
    select last_block, next_block into next_block, last_block;
  end if;
  while wanted is null or seen < passed_over + wanted loop
    -- A subquery that is limited stays one: blocks are looked at one after the other, up to the first that has them all.
    select b.block into next_block from generate_series(next_block, last_block, step) as b(block)
     where (select true from customer_words w where w.account_id = account and w.block = b.block
              and w.word >= lows[1] collate "C" and w.word < highs[1] collate "C" limit 1)
         and (cardinality(lows) < 2 or (select true from customer_words w where w.account_id = account and w.block = b.block
              and w.word >= lows[2] collate "C" and w.word < highs[2] collate "C" limit 1))
         and (cardinality(lows) < 3 or (select true from customer_words w where w.account_id = account and w.block = b.block
              and w.word >= lows[3] collate "C" and w.word < highs[3] collate "C" limit 1))
         and (cardinality(lows) < 4 or (select true from customer_words w where w.account_id = account and w.block = b.block
              and w.word >= lows[4] collate "C" and w.word < highs[4] collate "C" limit 1))
         and (cardinality(lows) < 5 or (select true from customer_words w where w.account_id = account and w.block = b.block
              and w.word >= lows[5] collate "C" and w.word < highs[5] collate "C" limit 1))
     limit 1;
    exit when next_block is null;
    select coalesce(array_agg(m.customer_id order by m.customer_id * step), '{}') into found
      from (select d.customer_id from (
              select distinct r.place, w.customer_id from unnest(lows, highs) with ordinality as r(low, high, place)
                join customer_words w on w.account_id = account and w.block = next_block
                 and w.word >= r.low collate "C" and w.word < r.high collate "C") d
             group by d.customer_id having count(*) = cardinality(lows)) m;
    if seen + cardinality(found) > passed_over then
      return query select f.id from unnest(found) with ordinality as f(id, place)
        where seen + f.place > passed_over and (wanted is null or seen + f.place <= passed_over + wanted) order by f.place;
    end if;
    seen := seen + cardinality(found);
    next_block := next_block + step;
  end loop;
end $$;
revoke all on function search_customers from public;
grant execute on function search_customers to perennial_app;

/* The words of the customers of before, as src/kernel/words.ts makes them of those from now on. */
do $$
declare
  -- One that knows the letters of all scripts, where there is one.
  letters text := coalesce((select c.collname from pg_collation c where c.collname in ('pg_c_utf8', 'und-x-icu') order by c.collname limit 1), 'default');
begin
  execute format($fill$
    insert into customer_words (account_id, block, word, customer_id)
    select distinct c.account_id, c.customer_id / 4096, left(p.word, 40), c.customer_id
      from customers c
      cross join lateral unnest(array[c.name, c.last_name, c.company, c.reference, c.email, split_part(c.email, '@', 2), c.vat_number, c.tel, c.cell,
        c.fax, regexp_replace(c.vat_number, '\s', '', 'g'), regexp_replace(c.tel, '\D', '', 'g'), regexp_replace(c.cell, '\D', '', 'g'),
        regexp_replace(c.fax, '\D', '', 'g')]) as t(text)
      cross join lateral (select replace(replace(replace(replace(replace(regexp_replace(lower(normalize(t.text, NFKD) collate %1$I),
        '[\u0300-\u036f]', '', 'g'), 'ß', 'ss'), 'ø', 'o'), 'æ', 'ae'), 'œ', 'oe'), 'ł', 'l') as plain) n
      cross join lateral regexp_split_to_table(n.plain, '\s+') as s(token)
      cross join lateral (
        select regexp_replace(s.token collate %1$I, '[^[:alnum:]]', '', 'g') as word
        union select regexp_split_to_table(s.token collate %1$I, '[^[:alnum:]]+')) p
     where p.word <> ''
  $fill$, letters);
end $$;
