// In the order in which they sort, so that time can be written with them.
const LETTERS = '23456789abcdefghjkmnpqrstvwxyz'

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
  // Of runs that begin in the same second the newest is known, too.
  const part = Math.floor((now.getUTCMilliseconds() * LETTERS.length ** 2) / 1000)
  const [high, low] = [Math.floor(part / LETTERS.length), part % LETTERS.length]
  return `${day}-${time}-${LETTERS[high]}${LETTERS[low]}${randomLetters(4)}`
}
