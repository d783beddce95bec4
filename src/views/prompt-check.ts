import { counted, formatTokens } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { estimateTokens } from '../base/estimate-tokens.ts'
import { formatBytes } from '../base/files.ts'
import { printable } from '../base/terminal/printable.ts'
import { cut } from './terminal/columns.ts'
import type { PushCommand, SetupCommand } from '../chain/parse/prompt/phases.ts'
import type { PolicyLine } from '../chain/plan/policy-lines.ts'

type FilePreview =
  | { readonly ok: true; readonly bytes: number; readonly tokens: number }
  | { readonly ok: false; readonly error: string }
  /** Already read by this path. */
  | { readonly as: string }

type ReadPreview = Extract<SetupCommand, { kind: 'read' }> & { readonly file: FilePreview }
type RunPreview = Extract<SetupCommand, { kind: 'run' }>
type CommandPreview = ReadPreview | PushCommand | RunPreview

/** The phases of a prompt, with its files read but nothing executed. */
export interface PromptPreview {
  readonly setup: readonly CommandPreview[]
  readonly content: string
  readonly teardown: readonly PushCommand[]
  /** Warnings, one sentence each. */
  readonly warnings?: readonly string[]
}

const SHOWN_LINES = 5
const WIDEST = 100

/** What a prompt would do, for people. `where` names the prompt. */
export function renderPromptCheck(where: string, prompt: PromptPreview): string[] {
  const { setup, content, teardown, warnings = [] } = prompt
  return [
    `${printable(where)}: dry run, nothing was executed.`,
    '',
    ...phase('Setup, before the agent starts', setup.map(commandLine)),
    '',
    ...renderContent(content),
    '',
    ...phase('Teardown, after the agent has completed', teardown.map(commandLine)),
    ...(warnings.length === 0 ? [] : ['']),
    ...warnings.map((text) => `Warning: ${printable(text)}`),
  ]
}

/** The commands of a prompt for a list of several prompts, one line each if `isComplete`. */
export function phaseLines({ setup, teardown }: PromptPreview, isComplete: boolean): PolicyLine[] {
  const lines = (label: string, commands: readonly CommandPreview[]) => {
    if (isComplete) return commands.map((each) => ({ label, words: describeCommand(each) }))
    return commands.length === 0 ? [] : [{ label, words: shortened(commands) }]
  }
  return [...lines('before', setup), ...lines('afterwards', teardown)]
}

const SHOWN_COMMANDS = 4

function shortened(commands: readonly CommandPreview[]): string {
  const shown = commands.slice(0, SHOWN_COMMANDS).map((command) => {
    if (command.kind === 'run') return describeRun(command)
    if (command.kind === 'push')
      return `queue ${command.name ?? fit(JSON.stringify(command.prompt))}`
    const { path, file } = command
    return `read ${fit(path)} (${describeFileBriefly(file)})`
  })
  const more = commands.length - shown.length
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

function describeFileBriefly(file: FilePreview): string {
  if ('as' in file) return 'read already'
  return file.ok ? formatBytes(file.bytes) : 'error result'
}

/** `renderPromptCheck` as JSON, with the whole content but without the text of files. */
export function promptCheckJson(where: string, prompt: PromptPreview) {
  const { setup, content, teardown, warnings = [] } = prompt
  return {
    prompt: where,
    setup: setup.map(commandJson),
    content: { text: content, ...measure(content) },
    teardown,
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}

export function phasesJson({ setup, teardown }: PromptPreview) {
  if (setup.length === 0 && teardown.length === 0) return undefined
  return { setup: setup.map(commandJson), teardown: teardown.map((task) => ({ ...task })) }
}

function commandJson(command: CommandPreview) {
  if (command.kind !== 'read') return { ...command }
  const { kind, path, line, file } = command
  if ('as' in file) return { kind, path, line, as: file.as }
  if (!file.ok) return { kind, path, line, error: file.error }
  return { kind, path, line, bytes: file.bytes, tokens: file.tokens }
}

function phase(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [`${title}: nothing`] : [`${title}:`, ...lines]
}

function commandLine(command: CommandPreview): string {
  return `  line ${command.line}  ${describeCommand(command)}`
}

function describeCommand(command: CommandPreview): string {
  if (command.kind === 'run') return describeRun(command)
  if (command.kind === 'push') return `queue ${describeTask(command)}`
  return `read ${fit(command.path)}: ${describeFile(command.file)}`
}

function describeFile(file: FilePreview): string {
  if ('as' in file) return `read already, as ${fit(file.as)}`
  return file.ok ? formatSize(file.bytes, file.tokens) : `error result: ${printable(file.error)}`
}

function formatSize(bytes: number, tokens: number): string {
  return `${formatBytes(bytes)}, about ${formatTokens(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`
}

function describeTask(task: PushCommand): string {
  const options = describeOptions(task)
  const suffix = options.length === 0 ? '' : ` (${options.join(', ')})`
  return `${task.name ?? 'a task without a name'}: ${fit(JSON.stringify(task.prompt))}${suffix}`
}

function describeOptions(task: PushCommand): string[] {
  const { agent, model, timeoutMs, retry, isolation, on, onParentEnd } = task
  const timeout = timeoutMs === undefined ? undefined : formatDuration(timeoutMs)
  const options = { agent, model, timeout, retry, isolation, on, "on parent's end": onParentEnd }
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [fit(`${name} ${value}`)],
  )
}

function describeRun({ count, parallel }: RunPreview): string {
  if (parallel !== undefined) return `start all queued tasks, ${parallel} at a time`
  if (count !== undefined) return `start the oldest ${counted(count, 'queued task')}`
  return 'start all queued tasks'
}

function renderContent(content: string): string[] {
  const title = 'Content, sent to the agent'
  if (content === '') return [`${title}: nothing, it runs without a prompt`]
  const { bytes, tokens, lines } = measure(content)
  const shown = content.split('\n', Math.min(lines, SHOWN_LINES))
  const more = lines - shown.length
  return [
    `${title}: ${counted(lines, 'line')}, ${formatSize(bytes, tokens)}`,
    ...shown.map((line) => `  | ${fit(line)}`.trimEnd()),
    ...(more > 0 ? [`  … ${counted(more, 'line')} more`] : []),
  ]
}

function measure(content: string) {
  const bytes = Buffer.byteLength(content)
  const breaks = content.split('\n').length - 1
  const lines = content === '' || content.endsWith('\n') ? breaks : breaks + 1
  return { bytes, tokens: estimateTokens(bytes), lines }
}

function fit(text: string): string {
  return cut(printable(text), WIDEST)
}
