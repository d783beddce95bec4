import { join } from 'node:path'
import { counted, formatTokens } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { formatBytes } from '../../base/files.ts'
import { localTime } from '../../base/local-time.ts'
import { shorten } from '../../base/shorten.ts'
import { printable, printableLines } from '../../base/terminal/printable.ts'
import type { Commit } from '../../host/records/commits.ts'
import type { Attempt, RanCommand } from '../../records/events/attempts.ts'
import type { Receipt } from '../../records/journal/receipt.ts'
import { formatCost } from '../../views/amounts.ts'
import { describeAttempt } from '../../views/attempts.ts'
import { copyNumber } from '../../views/copies.ts'
import { wrapWords, type Layout } from '../../views/layout.ts'

const WIDTH = 10
const BLANK = ' '.repeat(WIDTH + 2)
/** Lines of the agent's last words, and of the prompt. */
const [MOST_SAID, MOST_PROMPT] = [20, 10]

/** What the record knows about an iteration besides its receipt. */
export interface ReceiptDetails {
  readonly agent: string
  readonly folder: string
  /** Undefined if its events are lost. */
  readonly attempt: Attempt | undefined
  readonly commits: readonly Commit[]
  readonly prompt: string | undefined
  readonly lastWords: string
}

/** What people want to know first is at the top, and the prompt at the end. */
export function renderReceipt(receipt: Receipt, of: ReceiptDetails, layout: Layout): string[] {
  const { run, scope, step, round, iteration, attempt, ends } = receipt
  const copy = copyNumber({ key: (scope ?? []).join('/') })
  const tries = [
    ...(copy === '' ? [] : [`copy ${copy.slice(1)}`]),
    ...(round > 1 ? [`round ${round}`] : []),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ]
  const more = tries.length === 0 ? '' : ` (${tries.join(', ')})`
  const { words, look } = describeAttempt({ ...of.attempt, ...receipt })
  const title = printable(`Run ${run}, step ${step}: ${of.agent}, iteration ${iteration}${more}`)
  return [
    layout.paint.bold(title),
    line('outcome', words, layout.paint[look]),
    ...(ends === undefined
      ? []
      : [line('ends step', [ends.reason, ends.detail].filter(Boolean).join(': '))]),
    ...receipt.commands.flatMap((command) => commandLines(command, layout)),
    ...taskLines(receipt, of.attempt),
    ...changeLines(receipt, of.commits),
    ...block('said', of.lastWords, MOST_SAID),
    line('time', describeTime(receipt)),
    ...usageLines(receipt),
    line('printed', formatBytes(receipt.outputBytes)),
    ...(receipt.log === undefined ? [] : [line('log', join(of.folder, receipt.log))]),
    ...(receipt.argv === undefined ? [] : [line('command', describeCommand(receipt.argv))]),
    ...promptLines(receipt, of),
  ].flatMap((each) =>
    wrapWords(each, layout, BLANK + (each.indexOf('| ') === BLANK.length ? '| ' : '')),
  )
}

function line(name: string, text: string, paint: (text: string) => string = String): string {
  return `  ${name.padEnd(WIDTH)}${paint(printable(text))}`
}

/** The end of a text, or its beginning with `isStart`. */
function block(name: string, text: string, most: number, isStart = false): string[] {
  const lines = printableLines(text).trim().split('\n')
  if (lines.length === 1 && lines[0] === '') return []
  const shown = isStart ? lines.slice(0, most) : lines.slice(-most)
  const cut = lines.length > most ? [`… ${lines.length - most} more lines`] : []
  const all = isStart ? [...shown, ...cut] : [...cut, ...shown]
  return all.map((each, index) => line(index === 0 ? name : '', `| ${each}`))
}

function describeTime({ startedAt, endedAt, ms }: Receipt): string {
  const [start, end] = [localTime(startedAt), localTime(endedAt)]
  const until = start.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end
  return `${formatDuration(ms)}, ${start} to ${until}`
}

function taskLines({ tasks }: Receipt, attempt: Attempt | undefined): string[] {
  const titles = new Map(attempt?.tasks.map(({ id, title }) => [id, title]))
  return tasks.map((id, index) =>
    line(
      index === 0 ? (tasks.length === 1 ? 'task' : 'tasks') : '',
      `${id} ${titles.get(id) ?? ''}`.trim(),
    ),
  )
}

function promptLines({ prompt }: Receipt, of: ReceiptDetails): string[] {
  if (prompt === undefined) return [line('prompt', 'none')]
  const { level = 'unknown', file, hash, path } = prompt
  const where = file === undefined ? level : `${level}, file ${file}`
  return [
    line('prompt', hash === undefined ? where : `${where}; SHA-256 ${hash}`),
    ...(path === undefined ? [] : [line('', join(of.folder, path))]),
    ...block('', of.prompt ?? '', MOST_PROMPT, true),
  ]
}

function usageLines({
  model,
  turns,
  session,
  tokens,
  costUsd,
  billing,
  denied,
}: Receipt): string[] {
  const parts = [
    ...(model === undefined ? [] : [model]),
    ...(turns === undefined ? [] : [counted(turns, 'turn')]),
    ...(session === undefined ? [] : [`session ${session}`]),
    ...(denied === undefined || denied === 0 ? [] : [`${counted(denied, 'tool call')} denied`]),
  ]
  return [
    ...(costUsd === undefined ? [] : [line('cost', formatCost({ costUsd, billing }))]),
    ...(tokens === undefined ? [] : [line('tokens', kindsOfTokens(tokens))]),
    ...(parts.length === 0 ? [] : [line('model', parts.join(', '))]),
  ]
}

function kindsOfTokens(tokens: NonNullable<Receipt['tokens']>): string {
  const { input, output, cacheRead, cacheWrite } = tokens
  const [a, b, c, d] = [input, output, cacheRead, cacheWrite].map(formatTokens)
  return `input ${a}, output ${b}, cache read ${c}, cache write ${d}`
}

function changeLines({ changes }: Receipt, commits: readonly Commit[]): string[] {
  if (changes === undefined) return []
  const { files, fileCount, head } = changes
  const more = fileCount > files.length ? ['…'] : []
  const now = head === undefined ? '' : `, now at ${head}`
  return [
    line('changes', `${counted(changes.commits, 'commit')}, ${counted(fileCount, 'file')}${now}`),
    ...commits.map(({ hash, subject }) => line('', `${hash} ${subject}`)),
    ...[...files, ...more].map((file) => line('', file)),
  ]
}

/** Includes the end of its output if it failed. */
function commandLines({ role, command, result, detail, ms, tail }: RanCommand, { paint }: Layout) {
  const words = `${result}: ${command} (${detail}, ${formatDuration(ms)})`
  const lines = tail === undefined ? [] : printableLines(tail).trimEnd().split('\n')
  const isFailed = role === 'verify' && result !== 'ok'
  return [
    line(role === 'verify' ? 'gate' : role, words, isFailed ? paint.red : String),
    ...lines.map((text) => line('', `| ${text}`)),
  ]
}

/** Longer arguments are prompts, which are stored in their own file. */
const LONGEST_ARGUMENT = 200

/** A command as JSON, with long arguments cut. */
function describeCommand(argv: readonly string[]): string {
  return JSON.stringify(
    argv.map((arg) =>
      arg.length <= LONGEST_ARGUMENT
        ? arg
        : `${shorten(arg, LONGEST_ARGUMENT)} (${arg.length} characters)`,
    ),
  )
}
