import { nearest } from '../../base/nearest.ts'
import { shellWord } from '../../base/shell-quote.ts'
import { findStatus } from '../../tasks/status.ts'

/** Commands that people try, and what to type instead; `ID` is the next word, `…` the rest. */
const COMMANDS: Readonly<Record<string, string>> = {
  ...byWord('complete finish close resolve', 'edit ID --status done'),
  ...byWord('start begin', 'claim ID'),
  ...byWord('pick', 'next --claim'),
  ...byWord('reopen open', 'edit ID --status todo'),
  ...byWord('block', 'edit ID --status blocked --append-notes "why"'),
  ...byWord('assign', 'edit ID --assignee …'),
  ...byWord('comment note', 'edit ID --append-notes …'),
  ...byWord('check', 'edit ID --check-ac …'),
  ...byWord('label tag', 'edit ID --label …'),
  ...byWord('rename', 'edit ID --title …'),
  ...byWord('depend depends', 'edit ID --depends-on …'),
  ...byWord('mv move', 'edit ID --status …'),
  ...byWord('ready', 'list --ready'),
  ...byWord('fix repair', 'doctor --fix'),
  ...byWord('kanban ui', 'board'),
}

/** Suggests a command for words that do not begin with one. */
export function guessTaskCommand(
  words: readonly string[],
  commands: readonly string[],
): string | undefined {
  const [word = '', id = 'ID', ...more] = words
  if (word.startsWith('--') && commands.includes(more[0] ?? ''))
    return `forge-tasks ${[...more, word, id].map(quoted).join(' ')}`
  if (/^tasks?$/.test(word)) return `forge-tasks ${words.slice(1).map(quoted).join(' ')}`.trim()
  const known = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : guessByShape(word, id)
  if (known !== undefined) {
    const rest = more.length === 0 ? '"…"' : quoted(more.join(' '))
    return `forge-tasks ${known.replace('ID', quoted(id)).replace('…', rest)}`
  }
  const close = nearest(word.replace(/^-+/, ''), commands)
  return close && `forge-tasks ${[close, ...words.slice(1).map(quoted)].join(' ')}`
}

function guessByShape(word: string, id: string): string | undefined {
  if (/^(?:[A-Za-z]+-)?\d+$/.test(word)) return `view ${word}`
  const status = statusWord(word)
  if (status !== undefined)
    return id === 'ID' ? `list --status ${status}` : `edit ID --status ${status}`
  return /\s/.test(word) ? `create ${quoted(word)}` : undefined
}

/** A status as typed on the command line. */
function statusWord(word: string): string | undefined {
  const status = findStatus(word)
  return status === 'To Do' ? 'todo' : status?.toLowerCase().replaceAll(' ', '-')
}

/** The option for a bare value, such as `done` or `status=done`. */
export function guessField(word: string): string | undefined {
  const [, name, value] = /^-*(\w+)=(.+)$/.exec(word) ?? []
  if (name !== undefined && value !== undefined) return `--${name} ${quoted(value)}`
  const status = statusWord(word)
  return status && `--status ${status}`
}

/** For statuses typed as options: `--done`. */
export const STATUS_GUESSES: Readonly<Record<string, string>> = Object.fromEntries(
  ['todo', 'in-progress', 'blocked', 'done'].map((word) => [word, `Use: --status ${word}`]),
)

function byWord(words: string, command: string): Record<string, string> {
  return Object.fromEntries(words.split(' ').map((word) => [word, command]))
}

function quoted(text: string): string {
  return /^[^"$`\\!]*\s[^"$`\\!]*$/.test(text) ? `"${text}"` : shellWord(text)
}
