-- The consistency conditions of TPC-C (specification 5.11, clauses 3.3.2.1 to 3.3.2.12), compared with
-- the clauses' text. Each query returns the rows that violate its condition. Column names are the
-- specification's; numbers are wide, so that a mangled one can be loaded.

create table warehouse (w_id bigint, w_ytd decimal(18, 2));
create table district (d_id bigint, d_w_id bigint, d_ytd decimal(18, 2), d_next_o_id bigint);
create table customer (c_id bigint, c_d_id bigint, c_w_id bigint, c_balance decimal(18, 2),
                       c_ytd_payment decimal(18, 2), c_delivery_cnt bigint);
create table history (h_c_id bigint, h_c_d_id bigint, h_c_w_id bigint, h_d_id bigint, h_w_id bigint,
                      h_amount decimal(18, 2));
create table new_order (no_o_id bigint, no_d_id bigint, no_w_id bigint);
create table "order" (o_id bigint, o_d_id bigint, o_w_id bigint, o_c_id bigint, o_carrier_id bigint,
                      o_ol_cnt bigint);
create table order_line (ol_o_id bigint, ol_d_id bigint, ol_w_id bigint, ol_number bigint,
                         ol_delivery_d bigint, ol_amount decimal(18, 2));

-- 1: W_YTD = sum(D_YTD)
select w_id, w_ytd, sum(d_ytd) as d_ytd
from warehouse left join district on d_w_id = w_id
group by w_id, w_ytd
having w_ytd is distinct from sum(d_ytd);

-- 2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)
-- The second equation holds only for districts with a row in NEW-ORDER.
select d_w_id, d_id, d_next_o_id, last_order, last_new_order
from district
left join (select o_w_id, o_d_id, max(o_id) as last_order from "order" group by all)
  on o_w_id = d_w_id and o_d_id = d_id
left join (select no_w_id, no_d_id, max(no_o_id) as last_new_order from new_order group by all)
  on no_w_id = d_w_id and no_d_id = d_id
where d_next_o_id - 1 is distinct from last_order
   or (last_new_order is not null and last_new_order <> last_order);

-- 3: max(NO_O_ID) - min(NO_O_ID) + 1 = number of rows in NEW-ORDER
select no_w_id, no_d_id, min(no_o_id), max(no_o_id), count(*)
from new_order
group by no_w_id, no_d_id
having max(no_o_id) - min(no_o_id) + 1 <> count(*);

-- 4: sum(O_OL_CNT) = number of rows in ORDER-LINE
select w, d, expected, found
from (select o_w_id as w, o_d_id as d, sum(o_ol_cnt) as expected from "order" group by all)
full join (select ol_w_id as w, ol_d_id as d, count(*) as found from order_line group by all)
  using (w, d)
where expected is distinct from found;

-- 5: O_CARRIER_ID is null if and only if there is a row in NEW-ORDER
select o_w_id, o_d_id, o_id, o_carrier_id, no_o_id
from "order"
full join new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
where o_id is null or (o_carrier_id is null) <> (no_o_id is not null);

-- 6: O_OL_CNT = number of rows in ORDER-LINE with the order's number
select w, d, o, o_ol_cnt, found
from (select o_w_id as w, o_d_id as d, o_id as o, o_ol_cnt from "order")
full join (select ol_w_id as w, ol_d_id as d, ol_o_id as o, count(*) as found
           from order_line group by all)
  using (w, d, o)
where o_ol_cnt is distinct from found;

-- 7: OL_DELIVERY_D is null if and only if the order's O_CARRIER_ID is null
select ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id
from order_line
left join "order" on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
where o_id is null or (ol_delivery_d is null) <> (o_carrier_id is null);

-- 8: W_YTD = sum(H_AMOUNT)
select w_id, w_ytd, sum(h_amount) as h_amount
from warehouse left join history on h_w_id = w_id
group by w_id, w_ytd
having w_ytd is distinct from sum(h_amount);

-- 9: D_YTD = sum(H_AMOUNT)
select d_w_id, d_id, d_ytd, sum(h_amount) as h_amount
from district left join history on h_w_id = d_w_id and h_d_id = d_id
group by d_w_id, d_id, d_ytd
having d_ytd is distinct from sum(h_amount);

-- 10: C_BALANCE = sum(OL_AMOUNT of delivered orders) - sum(H_AMOUNT)
with delivered as (
  select o_w_id, o_d_id, o_c_id, sum(ol_amount) as amount
  from "order" join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
  where ol_delivery_d is not null
  group by all),
paid as (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as amount from history group by all)
select c_w_id, c_d_id, c_id, c_balance, delivered.amount, paid.amount
from customer
left join delivered on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
left join paid on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id
where c_balance <> coalesce(delivered.amount, 0) - coalesce(paid.amount, 0);

-- 11: number of rows in ORDER - number of rows in NEW-ORDER = 2100
-- The clause speaks of a database before its first delivery. Each delivery moves one order, which
-- C_DELIVERY_CNT counts. The load has as many orders as customers, and of 3000 leaves the last 900 in
-- NEW-ORDER; smaller loads leave as large a share.
select c_w_id, c_d_id, orders, new_orders, customers, deliveries
from (select c_w_id, c_d_id, count(*) as customers, sum(c_delivery_cnt) as deliveries
      from customer group by all)
left join (select o_w_id, o_d_id, count(*) as orders from "order" group by all)
  on o_w_id = c_w_id and o_d_id = c_d_id
left join (select no_w_id, no_d_id, count(*) as new_orders from new_order group by all)
  on no_w_id = c_w_id and no_d_id = c_d_id
where coalesce(orders, 0) - coalesce(new_orders, 0) <>
      customers - customers * 3 // 10 + deliveries;

-- 12: C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT of delivered orders)
with delivered as (
  select o_w_id, o_d_id, o_c_id, sum(ol_amount) as amount
  from "order" join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
  where ol_delivery_d is not null
  group by all)
select c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, amount
from customer
left join delivered on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
where c_balance + c_ytd_payment <> coalesce(amount, 0);
