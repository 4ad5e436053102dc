/*
 * Words are found by the record that bears them too, so that asking one record for a word costs the same however many others bear it: a search that
 * walks a list asks each. Their accounts are those of their records, which have keys to them: looking each up once more was paid by every
 * customer that is added.
 */
alter table record_words drop constraint record_words_account_id_fkey;
create index record_words_by_record on record_words (account_id, list, record_id, word);

/*
 * Finds records of a list that bear, for each range of words, a word in it: in the order of identifiers or the other way round, after those that are
 * passed over, as many as are wanted (null: all). Of ranges there are five at most. Plans are made once: making them for each block cost more than reading it.
 */
create or replace function search_records(account bigint, of_list smallint, lows text[], highs text[], is_newest_first boolean, passed_over bigint, wanted bigint)
  returns setof bigint language plpgsql stable set search_path = perennial, pg_temp set enable_seqscan = off
    set plan_cache_mode = force_generic_plan as $$
declare
  step integer := case when is_newest_first then -1 else 1 end;
  next_block integer;
  last_block integer;
  found bigint[];
  seen bigint := 0;
  few constant integer := 400;
  rarest integer;
  bearers integer;
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
    -- Where few bear one of the words, these are asked for the others.
    bearers := few;
    if cardinality(lows) > 1 then
      select k.place, k.bearers into rarest, bearers
        from (select r.place::integer, (select count(*) from (select from record_words w where w.account_id = account and w.list = of_list
                and w.block = next_block and w.word >= r.low collate "C" and w.word < r.high collate "C" limit few) f) as bearers
                from unnest(lows, highs) with ordinality as r(low, high, place)) k
       order by k.bearers limit 1;
    end if;
    if bearers < few then
      select coalesce(array_agg(m.record_id order by m.record_id * step), '{}') into found
        from (select distinct w.record_id from record_words w where w.account_id = account and w.list = of_list and w.block = next_block
                 and w.word >= lows[rarest] collate "C" and w.word < highs[rarest] collate "C") m
       where (select count(*) from unnest(lows, highs) with ordinality as r(low, high, place)
         where r.place <> rarest and (select true from record_words w where w.account_id = account and w.list = of_list
           and w.record_id = m.record_id and w.word >= r.low collate "C" and w.word < r.high collate "C" limit 1)) = cardinality(lows) - 1;
    else
      select coalesce(array_agg(m.record_id order by m.record_id * step), '{}') into found
        from (select d.record_id from (
                select distinct r.place, w.record_id from unnest(lows, highs) with ordinality as r(low, high, place)
                  join record_words w on w.account_id = account and w.list = of_list and w.block = next_block
                   and w.word >= r.low collate "C" and w.word < r.high collate "C") d
               group by d.record_id having count(*) = cardinality(lows)) m;
    end if;
    if seen + cardinality(found) > passed_over then
      return query select f.id from unnest(found) with ordinality as f(id, place)
        where seen + f.place > passed_over and (wanted is null or seen + f.place <= passed_over + wanted) order by f.place;
    end if;
    seen := seen + cardinality(found);
    next_block := next_block + step;
  end loop;
end $$;
