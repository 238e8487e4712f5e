-- The rules of TATP's tables (TATP Benchmark Description, IBM 2009), as they hold during a
-- run. Each query returns the rows that violate its rule.

create table subscriber (
  s_id bigint, sub_nbr varchar, msc_location bigint, vlr_location bigint,
  bit_1 int, bit_2 int, bit_3 int, bit_4 int, bit_5 int,
  bit_6 int, bit_7 int, bit_8 int, bit_9 int, bit_10 int,
  hex_1 int, hex_2 int, hex_3 int, hex_4 int, hex_5 int,
  hex_6 int, hex_7 int, hex_8 int, hex_9 int, hex_10 int,
  byte2_1 int, byte2_2 int, byte2_3 int, byte2_4 int, byte2_5 int,
  byte2_6 int, byte2_7 int, byte2_8 int, byte2_9 int, byte2_10 int);
create table access_info (s_id bigint, ai_type int, data1 int, data2 int, data3 varchar,
                          data4 varchar);
create table special_facility (s_id bigint, sf_type int, is_active int, error_cntrl int,
                               data_a int, data_b varchar);
create table call_forwarding (s_id bigint, sf_type int, start_time int, end_time int,
                              numberx varchar);

-- 1: the subscribers are 1 to n, and sub_nbr is s_id in 15 digits
select s_id, sub_nbr from subscriber
where sub_nbr <> lpad(s_id::varchar, 15, '0')
   or s_id not between 1 and (select count(*) from subscriber)
   or s_id in (select s_id from subscriber group by s_id having count(*) > 1);

-- 2: bit_1 to bit_10 are 0 or 1, hex_1 to hex_10 from 0 to 15, byte2_1 to byte2_10 from 0 to 255
select * from subscriber
where greatest(bit_1, bit_2, bit_3, bit_4, bit_5, bit_6, bit_7, bit_8, bit_9, bit_10) > 1
   or greatest(hex_1, hex_2, hex_3, hex_4, hex_5, hex_6, hex_7, hex_8, hex_9, hex_10) > 15
   or greatest(byte2_1, byte2_2, byte2_3, byte2_4, byte2_5, byte2_6, byte2_7, byte2_8, byte2_9,
               byte2_10) > 255;

-- 3: msc_location and vlr_location are from 1 to 2^32 - 1
select s_id, msc_location, vlr_location from subscriber
where msc_location not between 1 and 4294967295 or vlr_location not between 1 and 4294967295;

-- 4: a subscriber has one to four rows of access_info, of different types from 1 to 4
select s_id, list(ai_type) from subscriber full join access_info using (s_id)
group by s_id
having count(ai_type) not between 1 and 4 or count(distinct ai_type) <> count(ai_type)
    or min(ai_type) < 1 or max(ai_type) > 4
    or s_id not in (select s_id from subscriber);

-- 5: access_info has data of 0 to 255 in data1 and data2, three letters in data3, five in data4
select * from access_info
where data1 not between 0 and 255 or data2 not between 0 and 255
   or not regexp_full_match(data3, '[A-Z]{3}') or not regexp_full_match(data4, '[A-Z]{5}');

-- 6: a subscriber has one to four special facilities, of different types from 1 to 4
select s_id, list(sf_type) from subscriber full join special_facility using (s_id)
group by s_id
having count(sf_type) not between 1 and 4 or count(distinct sf_type) <> count(sf_type)
    or min(sf_type) < 1 or max(sf_type) > 4
    or s_id not in (select s_id from subscriber);

-- 7: a facility is active or not, has 0 to 255 in error_cntrl and data_a, five letters in data_b
select * from special_facility
where is_active not in (0, 1) or error_cntrl not between 0 and 255 or data_a not between 0 and 255
   or not regexp_full_match(data_b, '[A-Z]{5}');

-- 8: a call forwarding belongs to a special facility
select call_forwarding.* from call_forwarding
left join special_facility using (s_id, sf_type)
where special_facility.s_id is null;

-- 9: a call forwarding starts at 0, 8 or 16 hours and ends between 1 and 24 hours later; a facility
-- has one for each start at most
-- Insert Call Forwarding ends it at 1 to 24 o'clock. The description's load ends it 1 to 8 hours
-- after its start, the program's load 1 to 24.
select s_id, sf_type, start_time, list(end_time) from call_forwarding
group by s_id, sf_type, start_time
having start_time not in (0, 8, 16) or min(end_time) < 1 or max(end_time) > start_time + 24
    or count(*) > 1;

-- 10: calls are forwarded to a number of 15 digits
select * from call_forwarding where not regexp_full_match(numberx, '[0-9]{15}');
