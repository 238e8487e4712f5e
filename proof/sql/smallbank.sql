-- The consistency of SmallBank's tables (Alomari et al., ICDE 2008, from memory: the text was not at hand).
-- Each query returns the rows that violate its condition. `outside` is the part of a balance that came from
-- outside of the bank: what was loaded, deposits, withdrawals, checks and penalties.

create table account (name varchar, custid bigint);
create table savings (custid bigint, bal decimal(18, 2), outside decimal(18, 2));
create table checking (custid bigint, bal decimal(18, 2), outside decimal(18, 2));

-- 1: a customer has a name, savings and a checking balance, and nobody else has
select account.custid as named, savings.custid as saver, checking.custid as payer, name
from account
full join savings on savings.custid = account.custid
full join checking on checking.custid = account.custid
where named is null or saver is null or payer is null or name <> lpad(named::varchar, 64, '0');

-- 2: transactions between balances neither lose nor make money
select * from (select
  (select sum(bal) from savings) + (select sum(bal) from checking) as balances,
  (select sum(outside) from savings) + (select sum(outside) from checking) as outside)
where balances <> outside;

-- 3: no savings are negative
select * from savings where bal < 0;
