export function noteStatements(file: string | undefined): void
