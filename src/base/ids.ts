// In sort order, so that times written with them sort correctly.
const LETTERS = '23456789abcdefghjkmnpqrstvwxyz'

/** Random letters and digits that are hard to confuse; 30^n possibilities. */
export function randomLetters(count: number): string {
  let letters = ''
  const bytes = crypto.getRandomValues(new Uint8Array(count))
  for (let at = 0; at < count; at++) letters += LETTERS[bytes[at]! % LETTERS.length]!
  return letters
}

/** An id that sorts by time and needs no counter shared between machines. */
export function makeRunId(now: Date): string {
  const [day, time] = now.toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
  // Two letters for the milliseconds sort runs that begin in the same second.
  const part = Math.floor((now.getUTCMilliseconds() * LETTERS.length ** 2) / 1000)
  const [high, low] = [Math.floor(part / LETTERS.length), part % LETTERS.length]
  return `${day}-${time}-${LETTERS[high]}${LETTERS[low]}${randomLetters(4)}`
}

/** An id that sorts after another one, even if the clock was set back in between. */
export function makeRunIdAfter(earlier: string | undefined, now: Date): string {
  const id = makeRunId(now)
  if (earlier === undefined || id > earlier) return id
  const time = timeOf(earlier)
  return Number.isNaN(time) ? id : makeRunId(new Date(time + 1000))
}

/** The second in a run id, or NaN. */
function timeOf(id: string): number {
  return Date.parse(id.replace(/^(.{4})(..)(..)-(..)(..)(..)-.*$/, '$1-$2-$3T$4:$5:$6Z'))
}
