/** Words of lines that wait for a person. */

export const LINE_KINDS = ['return', 'credit', 'other', 'change', 'refund'] as const
export type LineKind = (typeof LINE_KINDS)[number]

export const LINE_STATES = ['open', 'applied', 'closed'] as const
export type LineState = (typeof LINE_STATES)[number]
