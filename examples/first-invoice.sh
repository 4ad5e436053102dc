#!/bin/sh
# The tour of the README with curl: from nothing to the first invoice.
# Needs PERENNIAL_ACCOUNT and PERENNIAL_KEY as the first start of the service prints them.
set -eu
url=${PERENNIAL_URL:-http://127.0.0.1:3000}
run=${EXAMPLE_RUN:-$$}

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

# The number behind a name in a JSON answer.
number() { sed -E "s/.*\"$1\":([0-9]+).*/\1/"; }

group=$(call POST /v1/packagegroups --data "{\"GroupName\": \"Curl plans $run\"}" | number packageGroupID)
plan=$(call POST /v1/packages --data "{
  \"packageGroupID\": $group, \"packageCode\": \"curl-$run\", \"Name\": \"Basic\", \"Descrip\": \"Basic\", \"isActive\": true,
  \"PackageVersion\": {\"VersionName\": \"first\", \"isActive\": true, \"isDefault\": true, \"packageVersionRates\": [{
    \"CurrencyCode\": \"USD\", \"SetupFee\": 0, \"TrialFee\": 0, \"TrialPeriod\": 0, \"TrialPeriodType\": \"days\",
    \"PackageRateTerms\": [{\"ChargePrice\": 31, \"ChargeTerm\": 1, \"ChargeTermType\": \"months\"}]}]}}" | number packageID)
customer=$(call POST /v1/customers --data '{"Name": "Ada", "LastName": "Lovelace"}' | number customerID)
call POST /v1/subscriptions --data "{\"customerID\": $customer, \"packageID\": $plan}" > /dev/null
call GET "/v1/invoices?customerID=$customer"
echo
