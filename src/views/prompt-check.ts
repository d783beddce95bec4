import { counted, formatTokens } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { unreachable } from '../base/errors.ts'
import { estimateTokens } from '../base/estimate-tokens.ts'
import { formatBytes } from '../base/files.ts'
import { printable } from '../base/terminal/printable.ts'

type FilePreview =
  | { readonly ok: true; readonly bytes: number; readonly tokens: number }
  | { readonly ok: false; readonly error: string }
  /** Already read by this path. */
  | { readonly as: string }

interface ReadPreview {
  readonly kind: 'read'
  readonly path: string
  readonly line: number
  /** The result of reading it now. */
  readonly file: FilePreview
}

interface PushPreview {
  readonly kind: 'push'
  readonly name?: string
  readonly agent?: string
  readonly model?: string
  readonly timeoutMs?: number
  readonly retry?: number
  readonly isolation?: string
  readonly on?: string
  readonly onParentEnd?: string
  readonly prompt: string
  readonly line: number
}

interface RunPreview {
  readonly kind: 'run'
  readonly count?: number
  readonly parallel?: number
  readonly line: number
}

type CommandPreview = ReadPreview | PushPreview | RunPreview

/** The phases of a prompt, with its files checked and nothing else done. */
export interface PromptPreview {
  readonly setup: readonly CommandPreview[]
  readonly content: string
  readonly teardown: readonly PushPreview[]
  /** Possible mistakes, one sentence each. */
  readonly warnings?: readonly string[]
}

const SHOWN_LINES = 5
const WIDEST = 100

/** What a prompt would do, for people. `where` names the prompt. */
export function renderPromptCheck(where: string, prompt: PromptPreview): string[] {
  return [
    `${printable(where)}: what would happen, nothing was run.`,
    '',
    ...phase('Setup, before the agent starts', prompt.setup.map(commandLine)),
    '',
    ...renderContent(prompt.content),
    '',
    ...phase('Teardown, after the agent has completed', prompt.teardown.map(commandLine)),
    ...warningLines(prompt.warnings ?? []),
  ]
}

function warningLines(warnings: readonly string[]): string[] {
  return warnings.length === 0 ? [] : ['', ...warnings.map((text) => `Warning: ${printable(text)}`)]
}

/** A labelled action of a phase. */
interface Line {
  readonly label: string
  readonly words: string
}

/** The commands of a prompt for a list of several prompts, one line each if `isComplete`. */
export function phaseLines({ setup, teardown }: PromptPreview, isComplete: boolean): Line[] {
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
      return `queue ${command.name ?? shorten(JSON.stringify(command.prompt))}`
    const { path, file } = command
    return `read ${shorten(path)} (${describeFileBriefly(file)})`
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

/** The phases as JSON; undefined if there are none. */
export function phasesJson({ setup, teardown }: PromptPreview) {
  if (setup.length === 0 && teardown.length === 0) return undefined
  return { setup: setup.map(commandJson), teardown: teardown.map((task) => ({ ...task })) }
}

function commandJson(command: CommandPreview) {
  return command.kind === 'read' ? readJson(command) : { ...command }
}

function readJson({ kind, path, line, file }: ReadPreview) {
  return { kind, path, line, ...fileJson(file) }
}

function fileJson(file: FilePreview) {
  if ('as' in file) return { as: file.as }
  return file.ok ? { bytes: file.bytes, tokens: file.tokens } : { error: file.error }
}

function phase(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [`${title}: nothing`] : [`${title}:`, ...lines]
}

function commandLine(command: CommandPreview): string {
  return `  line ${command.line}  ${describeCommand(command)}`
}

function describeCommand(command: CommandPreview): string {
  switch (command.kind) {
    case 'read':
      return `read ${shorten(command.path)}: ${describeFile(command.file)}`
    case 'push':
      return `queue ${describeTask(command)}`
    case 'run':
      return describeRun(command)
    default:
      return unreachable(command)
  }
}

function describeFile(file: FilePreview): string {
  if ('as' in file) return `read already, as ${shorten(file.as)}`
  return file.ok ? formatSize(file.bytes, file.tokens) : `error result: ${printable(file.error)}`
}

function formatSize(bytes: number, tokens: number): string {
  return `${formatBytes(bytes)}, about ${formatTokens(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`
}

function describeTask(task: PushPreview): string {
  const options = describeOptions(task)
  const suffix = options.length === 0 ? '' : ` (${options.join(', ')})`
  return `${task.name ?? 'a task without a name'}: ${shorten(JSON.stringify(task.prompt))}${suffix}`
}

function describeOptions(task: PushPreview): string[] {
  const { agent, model, timeoutMs, retry, isolation, on, onParentEnd } = task
  const words = [
    agent === undefined ? '' : `agent ${agent}`,
    model === undefined ? '' : `model ${model}`,
    timeoutMs === undefined ? '' : `timeout ${formatDuration(timeoutMs)}`,
    retry === undefined ? '' : `retry ${retry}`,
    isolation === undefined ? '' : `isolation ${isolation}`,
    on === undefined ? '' : `on ${on}`,
    onParentEnd === undefined ? '' : `on parent's end ${onParentEnd}`,
  ]
  return words.filter((each) => each !== '').map(shorten)
}

function describeRun({ count, parallel }: RunPreview): string {
  if (parallel !== undefined) return `start all queued tasks, ${parallel} at a time`
  if (count !== undefined) return `start the oldest ${counted(count, 'queued task')}`
  return 'start all queued tasks'
}

function renderContent(content: string): string[] {
  const title = 'Content, what the agent gets'
  if (content === '') return [`${title}: nothing, it runs without a prompt`]
  const { bytes, tokens, lines } = measure(content)
  const shown = content.split('\n', Math.min(lines, SHOWN_LINES))
  const more = lines - shown.length
  return [
    `${title}: ${counted(lines, 'line')}, ${formatSize(bytes, tokens)}`,
    ...shown.map((line) => `  | ${shorten(line)}`.trimEnd()),
    ...(more > 0 ? [`  … ${counted(more, 'line')} more`] : []),
  ]
}

function measure(content: string) {
  const bytes = Buffer.byteLength(content)
  const breaks = content.split('\n').length - 1
  const lines = content === '' || content.endsWith('\n') ? breaks : breaks + 1
  return { bytes, tokens: estimateTokens(bytes), lines }
}

function shorten(text: string): string {
  const line = printable(text.slice(0, WIDEST)).toWellFormed()
  return text.length > WIDEST ? `${line}…` : line
}
