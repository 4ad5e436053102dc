/** Pieces of a script: comments, quoted texts and names, and bodies between dollar signs are one each, so that a semicolon in them ends nothing. */
const PIECE = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[-/$]/g
const COMMENT = /^(?:--|\/\*)/

/** Splits a script into its statements. Comments between them are left out. */
export function statementsOf(script: string): string[] {
  const statements: string[] = []
  let text = ''
  for (const [piece] of script.matchAll(PIECE)) {
    if (COMMENT.test(piece)) continue
    if (piece !== ';') text += piece
    else {
      statements.push(text.trim())
      text = ''
    }
  }
  return [...statements, text.trim()].filter((statement) => statement !== '')
}
