const LETTERS = 'abcdefghjkmnpqrstvwxyz23456789'

/** Letters that are hard to confuse when read aloud; 30^n possibilities. */
export function randomLetters(count: number): string {
  let letters = ''
  const bytes = crypto.getRandomValues(new Uint8Array(count))
  for (let at = 0; at < count; at++) letters += LETTERS[bytes[at]! % LETTERS.length]!
  return letters
}

/** An id that sorts by time and needs no counter that machines would have to share. */
export function makeRunId(now: Date): string {
  const [day, time] = now.toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
  return `${day}-${time}-${randomLetters(5)}`
}
