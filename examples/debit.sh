#!/bin/sh
# A SEPA debit from its mandate to its return with curl: noticed, submitted, filed for the bank, booked, returned, and paid by transfer.
# Needs PERENNIAL_ACCOUNT and PERENNIAL_KEY as the first start of the service prints them; moves the clock of this test account by a month.
set -eu
url=${PERENNIAL_URL:-http://127.0.0.1:3000}

send() {
  method=$1 path=$2 type=$3
  shift 3
  curl --silent --show-error --fail-with-body --user "$PERENNIAL_ACCOUNT:$PERENNIAL_KEY" \
    --request "$method" --header "Content-Type: $type" "$url$path" "$@"
}

call() {
  method=$1 path=$2
  shift 2
  send "$method" "$path" application/json "$@"
}

curl --silent --fail --output /dev/null "$url/readyz" || {
  echo "Nothing answers at $url: start the service with npm start, or set PERENNIAL_URL to where it runs." >&2
  exit 1
}

# The number, or the text, behind a name in a JSON answer.
number() { sed -E "s/.*\"$1\":([0-9]+).*/\1/"; }
text() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }

status() { echo "$1: $(call GET "/v1/invoices/$invoice" | text Status)"; }
days_after() { node -p "new Date(Date.parse('$1') + $2 * 864e5).toISOString()" | cut -c1-10; }
# Moves the clock to noon of a day; what falls due on the way happens.
move_to() { call PUT /v1/clock --data "{\"Now\": \"$1T12:00:00Z\"}" > /dev/null; }

# 1. A gateway that makes files. It is the first choice for sepa from now on; without isPrimary nothing would be collected, since
# the sandbox of this account takes sepa as well.
call GET /v1/currencies | grep -q '"EUR"' || call POST /v1/currencies --data '{"CurrencyCode": "EUR"}' > /dev/null
gateway=$(call POST /v1/gateways --data '{"GatewayType": "sepa-file", "isPrimary": true, "Settings": {
  "CreditorName": "Perennial GmbH", "CreditorIBAN": "DE89370400440532013000", "CreditorBIC": "COBADEFFXXX",
  "CreditorIdentifier": "DE98ZZZ09999999999"}}' | number gatewayID)

# 2. A customer, the account and the mandate that he has signed.
today=$(call GET /v1/clock | text Now | cut -c1-10)
customer=$(call POST /v1/customers --data '{"Name": "Ada", "LastName": "Lovelace", "Email": "ada@example.com", "CurrencyCode": "EUR",
  "PaymentMethod": "bank_account"}' | number customerID)
call POST /v1/paymentmethods/bankaccount --data "{\"customerID\": $customer, \"isPrimary\": true, \"BankAccount\": {
  \"Method\": \"sepa\", \"AccountType\": \"Current\", \"AccountHolder\": \"Ada Lovelace\", \"Bank\": \"Bank\", \"IBAN\": \"DE02120300000000202051\",
  \"BIC\": \"BYLADEM1001\", \"MandateReference\": \"M-$customer\", \"MandateDate\": \"$today\"}}" > /dev/null

# 3. An invoice. The next day it is a line of a batch, 14 days after the notice to the payer.
invoice=$(call POST /v1/invoices --data "{\"customerID\": $customer, \"CurrencyCode\": \"EUR\", \"Charges\": [{\"UnitCostEx\": 115}]}" | number invoiceID)
issued=$(call GET "/v1/invoices/$invoice" | number invoiceNum)
status 'issued'
move_to "$(days_after "$today" 1)"
attempt=$(call GET "/v1/invoices/$invoice/attempts")
payment=$(echo "$attempt" | number paymentID)
batch=$(echo "$attempt" | text BatchToken)
day=$(call GET "/v1/batches/$batch" | text ActionDate | cut -c1-10)
status 'in a batch'

# 4. Submitted, it is built at once by a job, here by the clock; the file goes to the bank.
call PUT /v1/batches/submit --data "{\"BatchToken\": \"$batch\", \"ActionDate\": \"$day\"}"
move_to "$(days_after "$today" 2)"
call GET "/v1/batches/$batch/file" | grep -oE '<InstdAmt[^/]*|<MndtId>[^<]*'

# What the bank sends: a notification (camt.054) with one entry, of a day and an amount; what it is about follows.
bank_file() {
  cat << XML
<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"><BkToCstmrDbtCdtNtfctn>
<GrpHdr><MsgId>$1</MsgId><CreDtTm>$2T18:00:00Z</CreDtTm></GrpHdr>
<Ntfctn><Id>$1</Id><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>
<Ntry><Amt Ccy="EUR">115.00</Amt><CdtDbtInd>$3</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>$2</Dt></BookgDt>
<AcctSvcrRef>$1-$payment</AcctSvcrRef><NtryDtls><TxDtls>$4</TxDtls></NtryDtls></Ntry></Ntfctn></BkToCstmrDbtCdtNtfctn></Document>
XML
}
send_file() { bank_file "$@" | send POST "/v1/resultfiles?gatewayID=$gateway" application/xml --data-binary @-; }

# 5. The bank books the debit, and takes it back ten days later: too little money.
debit="<Refs><EndToEndId>P$PERENNIAL_ACCOUNT-$payment</EndToEndId></Refs>"
move_to "$day"
send_file BOOKED "$day" CRDT "$debit" > /dev/null
status 'booked by the bank'
returned=$(days_after "$day" 10)
move_to "$returned"
send_file RETURNED "$returned" DBIT "$debit<RtrInf><Rsn><Cd>AM04</Cd></Rsn></RtrInf>" > /dev/null
status 'returned'
call GET "/v1/invoices/$invoice/attempts"
echo

# 6. Ada pays by transfer instead. The line of the file proposes the invoice that its text names; a person confirms it.
file=$(send_file TRANSFER "$returned" CRDT "<RltdPties><Dbtr><Pty><Nm>Ada Lovelace</Nm></Pty></Dbtr></RltdPties>
  <RmtInf><Ustrd>Invoice $issued</Ustrd></RmtInf>" | number resultFileID)
line=$(call GET "/v1/resultfiles/$file" | sed -E 's/.*"Lines":\[(.*)\].*/\1/')
echo "$line"
call PUT "/v1/resultfiles/$file/lines/$(echo "$line" | number lineID)" --data "{\"customerID\": $customer,
  \"Allocations\": [{\"invoiceID\": $(echo "$line" | number invoiceID), \"amountApplied\": 115}]}"
status 'paid by transfer'
