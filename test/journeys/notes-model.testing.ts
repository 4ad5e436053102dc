/** Model of what credit notes correct, in a few lines and minor units: callers' notes of one customer in one currency. */

export interface Part {
  invoice: number
  amount: number
}

export interface ModelInvoice {
  id: number
  total: number
  tax: number
  isCancelled: boolean
}

export interface ModelNote {
  id: number
  amount: number
  allocated: Part[]
  /** In the order made. */
  settled: Part[]
  isClosed: boolean
  isSent: boolean
}

export interface NotesModel {
  invoices: ModelInvoice[]
  notes: ModelNote[]
  /** Bad debt by invoice. */
  badDebt: Part[]
}

export const sum = (parts: readonly Part[]): number => parts.reduce((all, { amount }) => all + amount, 0)
export const sumTo = (parts: readonly Part[], invoice: number): number =>
  sum(parts.filter((part) => part.invoice === invoice))

const ofNotes = (model: NotesModel, list: 'allocated' | 'settled') => model.notes.flatMap((note) => note[list])

export const openOf = (model: NotesModel, invoice: ModelInvoice): number =>
  invoice.total - sumTo(ofNotes(model, 'allocated'), invoice.id) - sumTo(model.badDebt, invoice.id)

export const creditableOf = (model: NotesModel, invoice: ModelInvoice): number =>
  invoice.total - sumTo(ofNotes(model, 'settled'), invoice.id) - sumTo(model.badDebt, invoice.id)

/** Returns whether invoices can take a list of allocations of a note, whose own ones are free. */
export const canTake = (model: NotesModel, note: ModelNote | null, amount: number, wanted: readonly Part[]): boolean =>
  sum(wanted) <= amount &&
  model.invoices.every((invoice) => {
    const to = sumTo(wanted, invoice.id)
    const own = note === null ? 0 : sumTo(note.allocated, invoice.id)
    return to === 0 || (!invoice.isCancelled && to <= openOf(model, invoice) + own)
  })

/** Allocates a note anew: a lower amount takes settlements away, the newest first; what the list raises is settled. */
export function allocate(model: NotesModel, note: ModelNote, amount: number, wanted: Part[]): void {
  const before = sum(note.allocated)
  note.amount = amount
  note.allocated = wanted
  if (note.isClosed) return
  let last: Part | undefined
  while (sum(note.settled) > amount) last = note.settled.pop()
  const fits = amount - sum(note.settled)
  if (last && fits > 0) note.settled.push({ invoice: last.invoice, amount: fits })
  let raised = sum(wanted) - Math.max(before, sum(note.settled))
  for (const id of new Set(wanted.map(({ invoice }) => invoice))) {
    const invoice = model.invoices.find((one) => one.id === id)!
    const more = Math.min(sumTo(wanted, id) - sumTo(note.settled, id), creditableOf(model, invoice), raised)
    if (more <= 0) continue
    note.settled.push({ invoice: id, amount: more })
    raised -= more
  }
}

export const hasClosedNote = (model: NotesModel, invoice: ModelInvoice): boolean =>
  model.notes.some((note) => note.isClosed && sumTo(note.settled, invoice.id) > 0)

/** Cancels an invoice: what open notes settle of it ends. */
export function cancel(model: NotesModel, invoice: ModelInvoice): void {
  invoice.isCancelled = true
  for (const note of model.notes) note.settled = note.settled.filter((part) => part.invoice !== invoice.id)
}
