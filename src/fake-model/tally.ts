import type { RecordedRequest } from './server.ts'

const MOST_PLACES = 5

/** Reports requests without a turn, and turns without a request. */
export class Tally {
  #asked = 0
  /** Number of requests without a turn, by reason. */
  readonly #strays = new Map<string, number>()
  /** The hint of the first request, by reason. */
  readonly #hints = new Map<string, string>()

  add({ turn, stray, hint }: Pick<RecordedRequest, 'turn' | 'stray' | 'hint'>): void {
    if (stray !== undefined && hint !== undefined && !this.#hints.has(stray))
      this.#hints.set(stray, hint)
    if (turn !== undefined || stray !== undefined) this.#asked += 1
    if (stray !== undefined) this.#strays.set(stray, (this.#strays.get(stray) ?? 0) + 1)
  }

  /** Whether no request was received. */
  get isEmpty(): boolean {
    return this.#asked === 0
  }

  /** `unused` are the places of the turns that answered no request. */
  renderRemarks(unused: readonly string[]): string[] {
    if (this.isEmpty) {
      return ['no requests received; if claude ran, its settings.json may name another server']
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
