// A reporter of Vitest: writes the errors that belong to no test to the file that ERRORS_OUTSIDE_TESTS names, as a list of texts.
// The JSON reporter leaves them out, and what a run prints of them is far above its last lines.
import { writeFileSync } from 'node:fs'

export default class ErrorsOutsideTests {
  onTestRunEnd(_modules, errors) {
    if (errors.length > 0) writeFileSync(process.env.ERRORS_OUTSIDE_TESTS, JSON.stringify(errors.map(toText)))
  }
}

function toText({ name, message, stack = '', VITEST_TEST_PATH: file, VITEST_TEST_NAME: test }) {
  const seenIn = file === undefined ? '' : ` (seen in ${file}${test === undefined ? '' : `: ${test}`})`
  return `${name}: ${message}${seenIn}\n${stack}`
}
