/** Refusal of a file that cannot be read: its message names the place in the file and what is wrong there, and repeats no content. */
export class UnreadableFile extends Error {}
