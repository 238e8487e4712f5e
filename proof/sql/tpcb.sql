-- The consistency of TPC-B's tables (specification 2.0, clauses 2.3 and 3.2, from memory: the text was
-- not at hand). Each query returns the rows that violate its condition. All balances are 0 after the
-- load.

create table branch (b_id bigint, b_balance bigint);
create table teller (t_id bigint, t_b_id bigint, t_balance bigint);
create table account (a_id bigint, a_b_id bigint, a_balance bigint);
create table history (h_t_id bigint, h_b_id bigint, h_a_id bigint, h_delta bigint);

-- 1: a branch's balance is the sum of its tellers' balances
select b_id, b_balance, sum(t_balance) as t_balance
from branch left join teller on t_b_id = b_id
group by b_id, b_balance
having b_balance is distinct from sum(t_balance);

-- 2: the sums of all accounts, tellers and branches are equal
select * from (select
  (select sum(a_balance) from account) as accounts,
  (select sum(t_balance) from teller) as tellers,
  (select sum(b_balance) from branch) as branches)
where accounts <> branches or tellers <> branches;

-- 3: a branch's balance is the sum of its history
select b_id, b_balance, sum(h_delta) as h_delta
from branch left join history on h_b_id = b_id
group by b_id, b_balance
having b_balance <> coalesce(sum(h_delta), 0);

-- 4: a teller's balance is the sum of its history
select t_id, t_balance, sum(h_delta) as h_delta
from teller left join history on h_t_id = t_id
group by t_id, t_balance
having t_balance <> coalesce(sum(h_delta), 0);

-- 5: an account's balance is the sum of its history
select a_id, a_balance, sum(h_delta) as h_delta
from account left join history on h_a_id = a_id
group by a_id, a_balance
having a_balance <> coalesce(sum(h_delta), 0);

-- 6: history names an account, a teller, and the teller's branch
select history.*
from history
left join account on a_id = h_a_id
left join teller on t_id = h_t_id and t_b_id = h_b_id
where a_id is null or t_id is null;

-- 7: a branch has ten tellers, and all branches have as many accounts
select b_id, tellers, accounts
from branch
left join (select t_b_id, count(*) as tellers from teller group by all) on t_b_id = b_id
left join (select a_b_id, count(*) as accounts from account group by all) on a_b_id = b_id
where tellers is distinct from 10
   or accounts is distinct from (select count(*) from account) // (select count(*) from branch);
