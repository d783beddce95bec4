import { printable } from '../../base/terminal/printable.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What the taskbar or tab shows; `waiting` is a pause. */
export type Progress = 'working' | 'waiting'

/** The states of OSC 9;4. */
const STATES: Record<Progress | 'none', string> = { none: '0', working: '3', waiting: '4' }

/** Other terminals print the title instead of showing it. */
const WITHOUT_TITLE = /^(?:dumb|linux|vt\d+)$/

/** Title and progress of the window, which get their old values back at the end. */
export class WindowTitle {
  readonly #hasTitle: boolean
  readonly #hasProgress: boolean
  #title = ''
  #progress: Progress | 'none' = 'none'

  constructor(env: Environment) {
    this.#hasTitle = !WITHOUT_TITLE.test(env['TERM'] ?? '')
    this.#hasProgress = this.#hasTitle && showsProgress(env)
  }

  /** What to write to change them. Between two steps, they stay. */
  show(title: string, progress: Progress): string {
    if (!this.#hasTitle || title === '') return ''
    const shown = printable(title)
    const saved = this.#title === '' ? '\u001b[22;2t' : ''
    const text = shown === this.#title ? '' : `${saved}\u001b]0;${shown}\u0007`
    const state = this.#hasProgress && progress !== this.#progress ? osc94(progress) : ''
    this.#title = shown
    this.#progress = progress
    return text + state
  }

  end(): string {
    const text = this.#title === '' ? '' : '\u001b[23;2t'
    const state = this.#hasProgress && this.#progress !== 'none' ? osc94('none') : ''
    this.#title = ''
    this.#progress = 'none'
    return text + state
  }
}

function osc94(progress: Progress | 'none'): string {
  return `\u001b]9;4;${STATES[progress]};0\u0007`
}

/** In others, OSC 9 is a notification. */
function showsProgress(env: Environment): boolean {
  if (env['TMUX'] !== undefined || env['STY'] !== undefined) return false
  if (env['WT_SESSION'] !== undefined || env['ConEmuANSI'] === 'ON') return true
  if (/^(?:WezTerm|ghostty)$/.test(env['TERM_PROGRAM'] ?? '')) return true
  return Number(env['VTE_VERSION'] ?? 0) >= 8000
}
