/** Output of commands: results go to stdout, remarks and progress to stderr, so that a pipe gets results alone. */

/** Results as JSON on one line; identifiers are JSON integers as in the interface. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))}\n`)
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Prints a remark for the person at the terminal, or for the log. */
export function remark(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Writes a table for people: columns as wide as their widest text, nothing at all for no rows but the header. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of [header, ...rows]) {
    printLine(
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}
