#!/bin/sh
# A card from its first charge to a refund with curl: declined, warned, replaced, paid, and part of it given back.
# Needs PERENNIAL_ACCOUNT and PERENNIAL_KEY as the first start of the service prints them; moves the clock of this test account by seven days.
set -eu
url=${PERENNIAL_URL:-http://127.0.0.1:3000}

call() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail-with-body --user "$PERENNIAL_ACCOUNT:$PERENNIAL_KEY" \
    --request "$method" --header 'Content-Type: application/json' "$url$path" "$@"
}

curl --silent --fail --output /dev/null "$url/readyz" || {
  echo "Nothing answers at $url: start the service with npm start, or set PERENNIAL_URL to where it runs." >&2
  exit 1
}

# The number, or the text, behind a name in a JSON answer.
number() { sed -E "s/.*\"$1\":([0-9]+).*/\1/"; }
text() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }

card() {
  call POST /v1/paymentmethods/creditcard --data "{\"customerID\": $customer, \"isPrimary\": true, \"CreditCard\": {
    \"CardType\": \"Visa\", \"Number\": \"$1\", \"NameOnCard\": \"Ada\", \"LastNameOnCard\": \"Lovelace\", \"ExpiryMonth\": 12, \"ExpiryYear\": 2040}}" > /dev/null
}

# Moves the clock by days; what falls due on the way happens.
pass_days() {
  now=$(call GET /v1/clock | text Now)
  later=$(node -p "new Date(Date.parse('$now') + $1 * 864e5).toISOString()")
  call PUT /v1/clock --data "{\"Now\": \"$later\"}" > /dev/null
}

status() { echo "$1: $(call GET "/v1/invoices/$invoice" | text Status)"; }

customer=$(call POST /v1/customers --data \
  '{"Name": "Ada", "LastName": "Lovelace", "Email": "ada@example.com", "PaymentMethod": "credit_card", "PaymentTermDays": 1}' | number customerID)
# The sandbox declines this number: insufficient funds.
card 4000000000009995
invoice=$(call POST /v1/invoices --data "{\"customerID\": $customer, \"Charges\": [{\"UnitCostEx\": 115}]}" | number invoiceID)
status 'issued'
pass_days 2
status 'declined on its due date'
# A new card is tried on the next day.
card 4242424242424242
pass_days 1
status 'with another card'
call GET "/v1/invoices/$invoice/attempts"
echo

payment=$(call GET "/v1/invoices/$invoice/attempts" | sed -E 's/.*"paymentID":([0-9]+).*/\1/')
# What a payment has paid is not given back; 40.00 are taken off the invoice first.
call PUT "/v1/payments/$payment" --data "{\"customerID\": $customer, \"Amount\": 115, \"CurrencyCode\": \"USD\", \"Method\": \"credit_card\",
  \"Date\": \"$(call GET "/v1/payments/$payment" | text Date)\", \"Allocations\": [{\"invoiceID\": $invoice, \"amountApplied\": 75}]}"
call POST "/v1/payments/$payment/refund" --data '{"Amount": 40}' > /dev/null
call GET "/v1/payments/$payment/refunds"
echo
# What a caller has opened again is not charged by itself.
pass_days 4
call GET "/v1/invoices/$invoice/attempts" | grep -o '"Outcome"' | wc -l
