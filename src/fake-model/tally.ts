import type { RecordedRequest } from './server.ts'

const MOST_PLACES = 5

/** Counts what a script and those who asked had in excess, and says it in lines for a person. */
export class Tally {
  #asked = 0
  /** How many requests had no turn, by the reason. */
  readonly #strays = new Map<string, number>()

  /** What the first of each of them asked. */
  readonly #hints = new Map<string, string>()

  add({ turn, stray, hint }: Pick<RecordedRequest, 'turn' | 'stray' | 'hint'>): void {
    if (stray !== undefined && hint !== undefined && !this.#hints.has(stray))
      this.#hints.set(stray, hint)
    if (turn !== undefined || stray !== undefined) this.#asked += 1
    if (stray !== undefined) this.#strays.set(stray, (this.#strays.get(stray) ?? 0) + 1)
  }

  /** `unused` are the places of the turns that answered nothing. */
  renderRemarks(unused: readonly string[]): string[] {
    if (this.#asked === 0) {
      return ['no request came. If a claude ran, its settings.json may name another server.']
    }
    const strays = Array.from(this.#strays, ([why, count]) => {
      const requests = count === 1 ? '1 request' : `${count} requests`
      const hint = this.#hints.get(why)?.replaceAll('\n', '\n  ')
      return `${requests} had no turn: ${why}${hint === undefined ? '' : `\n  ${hint}`}`
    })
    return unused.length === 0 ? strays : [...strays, `unused: ${renderPlaces(unused)}`]
  }
}

function renderPlaces(places: readonly string[]): string {
  const more = places.length - MOST_PLACES
  const shown = places.slice(0, MOST_PLACES).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}
