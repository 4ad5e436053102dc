/*
 * An allocation is of the customer of its money, which has a key to that customer: looking the same customer up once more for each allocation
 * said nothing that was not known, and was paid by every payment.
 */
alter table allocations drop constraint allocations_account_id_customer_id_fkey;
