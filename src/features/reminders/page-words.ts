import type { ReminderKind } from '../../engine/collection/rules.ts'
import type { Language } from '../../platform/locale/format.ts'

/** The words of the page on which a customer stops a kind of reminders. */

interface Words {
  kinds: Record<ReminderKind, string>
  title: string
  sent(kind: string): string
  others: string
  stop: string
  stoppedTitle: string
  stopped(kind: string): string
  start: string
}

const en: Words = {
  kinds: {
    upcoming_renewal: 'Reminders that a contract renews soon',
    card_expiring: 'Reminders that a card expires soon',
    trial_expiring: 'Reminders that a trial ends soon',
    end_near: 'Reminders that a contract ends soon',
    payment_due: 'Reminders that an invoice is due soon',
  },
  title: 'Do you want these mails?',
  sent: (kind) => `${kind} are sent to you by mail.`,
  others: 'Invoices, receipts and mails about unpaid invoices are not affected.',
  stop: 'Stop these mails',
  stoppedTitle: 'You will not get these mails any more',
  stopped: (kind) => `${kind} are not sent to you any more.`,
  start: 'Send them to me again',
}

const de: Words = {
  kinds: {
    upcoming_renewal: 'Erinnerungen, dass sich ein Vertrag bald verlängert,',
    card_expiring: 'Erinnerungen, dass eine Karte bald abläuft,',
    trial_expiring: 'Erinnerungen, dass eine Probezeit bald endet,',
    end_near: 'Erinnerungen, dass ein Vertrag bald endet,',
    payment_due: 'Erinnerungen, dass eine Rechnung bald fällig ist,',
  },
  title: 'Möchten Sie diese E-Mails?',
  sent: (kind) => `${kind} werden Ihnen per E-Mail geschickt.`,
  others: 'Rechnungen, Quittungen und E-Mails zu unbezahlten Rechnungen sind davon nicht betroffen.',
  stop: 'Diese E-Mails abbestellen',
  stoppedTitle: 'Sie bekommen diese E-Mails nicht mehr',
  stopped: (kind) => `${kind} werden Ihnen nicht mehr geschickt.`,
  start: 'Wieder schicken',
}

const WORDS: Record<Language, Words> = { en, de }

export const stopPageWords = (language: Language): Words => WORDS[language]
