import { join } from 'node:path'
import { formatBytes } from '../../base/files.ts'
import { printable, printableLines } from '../../base/terminal/printable.ts'
import type { CommandReceipt, Receipt } from '../../records/journal/receipt.ts'
import { counted, formatTokens } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { formatCost } from '../../views/amounts.ts'
import { copyNumber } from '../../views/copies.ts'
import { describeEnding } from '../../views/show-steps.ts'
import { shorten } from '../../base/shorten.ts'

const WIDTH = 10

export function renderReceipt(receipt: Receipt, agent: string, folder: string): string[] {
  const { run, scope, step, round, iteration, attempt, outcome, again, ends } = receipt
  const copy = copyNumber({ key: (scope ?? []).join('/') })
  const tries = [
    ...(copy === '' ? [] : [`copy ${copy.slice(1)}`]),
    ...(round > 1 ? [`round ${round}`] : []),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ]
  const more = tries.length === 0 ? '' : ` (${tries.join(', ')})`
  const repeated = again === true ? '; it does not count' : ''
  return [
    printable(`Run ${run}, step ${step}: ${agent}, iteration ${iteration}${more}`),
    line('outcome', describeEnding(outcome) + repeated),
    ...(ends === undefined
      ? []
      : [line('ends step', [ends.reason, ends.detail].filter(Boolean).join(': '))]),
    line('time', `${receipt.startedAt} to ${receipt.endedAt}, ${formatDuration(receipt.ms)}`),
    ...(receipt.argv === undefined ? [] : [line('command', describeCommand(receipt.argv))]),
    ...promptLines(receipt, folder),
    ...usageLines(receipt),
    ...changeLines(receipt),
    ...receipt.commands.flatMap(commandLines),
    ...(receipt.tasks.length === 0 ? [] : [line('tasks', receipt.tasks.join(', '))]),
    line('printed', formatBytes(receipt.outputBytes)),
    ...(receipt.log === undefined ? [] : [line('log', join(folder, receipt.log))]),
  ]
}

function line(name: string, text: string): string {
  return `  ${name.padEnd(WIDTH)}${printable(text)}`
}

function promptLines({ prompt }: Receipt, folder: string): string[] {
  if (prompt === undefined) return [line('prompt', 'none')]
  const { level = 'unknown', file, hash, path } = prompt
  const where = file === undefined ? level : `${level}, file ${file}`
  return [
    line('prompt', hash === undefined ? where : `${where}; SHA-256 ${hash}`),
    ...(path === undefined ? [] : [line('', join(folder, path))]),
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
    ...(parts.length === 0 ? [] : [line('model', parts.join(', '))]),
    ...(tokens === undefined ? [] : [line('tokens', kindsOfTokens(tokens))]),
    ...(costUsd === undefined ? [] : [line('cost', formatCost({ costUsd, billing }))]),
  ]
}

function kindsOfTokens(tokens: NonNullable<Receipt['tokens']>): string {
  const { input, output, cacheRead, cacheWrite } = tokens
  const [a, b, c, d] = [input, output, cacheRead, cacheWrite].map(formatTokens)
  return `input ${a}, output ${b}, cache read ${c}, cache write ${d}`
}

function changeLines({ changes }: Receipt): string[] {
  if (changes === undefined) return []
  const { commits, files, fileCount, head } = changes
  const more = fileCount > files.length ? ['…'] : []
  const now = head === undefined ? '' : `, now at ${head}`
  return [
    line('changes', `${counted(commits, 'commit')}, ${counted(fileCount, 'file')}${now}`),
    ...[...files, ...more].map((file) => line('', file)),
  ]
}

/** Includes the end of its output if it failed. */
function commandLines({ role, command, result, detail, ms, tail }: CommandReceipt): string[] {
  const words = `${result}: ${command} (${detail}, ${formatDuration(ms)})`
  const lines = tail === undefined ? [] : printableLines(tail).trimEnd().split('\n')
  return [line(role, words), ...lines.map((text) => `  ${' '.repeat(WIDTH)}| ${text}`)]
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
