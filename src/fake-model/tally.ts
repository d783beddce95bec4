import { listed } from '../base/shorten.ts'
import { counted } from '../base/amounts.ts'
import type { RecordedRequest } from './server.ts'

const MOST_PLACES = 5

/** Reports requests without a turn, and turns without a request. */
export class Tally {
  /** Whether no request was received. */
  isEmpty = true
  /** Requests without a turn, by reason, with the hint of the first one. */
  readonly #strays = new Map<string, { count: number; readonly hint: string | undefined }>()

  add({ turn, stray, hint }: Pick<RecordedRequest, 'turn' | 'stray' | 'hint'>): void {
    if (turn !== undefined || stray !== undefined) this.isEmpty = false
    if (stray === undefined) return
    const same = this.#strays.get(stray) ?? { count: 0, hint }
    this.#strays.set(stray, same)
    same.count += 1
  }

  /** `unused` are the places of the turns that answered no request. */
  renderRemarks(unused: readonly string[]): string[] {
    if (this.isEmpty) {
      return ['no requests received; if claude ran, its settings.json may name another server']
    }
    const strays = Array.from(this.#strays, ([why, { count, hint }]) => {
      const more = hint === undefined ? '' : `\n  ${hint.replaceAll('\n', '\n  ')}`
      return `${counted(count, 'request')} had no matching turn: ${why}${more}`
    })
    return unused.length === 0 ? strays : [...strays, `unused: ${listed(unused, MOST_PLACES)}`]
  }
}
