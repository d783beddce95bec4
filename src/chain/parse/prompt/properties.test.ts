import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../../../base/errors.ts'
import { parsePhases } from './parse-phases.ts'
import type { Phases, SetupCommand } from './phases.ts'
import { renderPhases } from './render-phases.ts'

const parse = (text: string) => parsePhases(text, 'p.md')

/** Text that resembles a prompt with commands. */
const PIECES = [
  ['/read ', '/push ', '/run ', '/check', '//read ', '///', '/', '\n', '\r\n', '\r', ' ', '\t'],
  ['"', "'", '\\', '\\n', 'name=', 'retry=', 'timeout=', 'x=', '--lifo', '=', '3', '0', 'x'],
  ['..', '\uFEFF', '\u2028', '😀', '\ud800', 'é', '\0', 'parallel='],
]
const pieces = fc.constantFrom(...PIECES.flat())
const nearText = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary' })), { maxLength: 30 })

test('any text is parsed or refused', () => {
  fc.assert(
    fc.property(nearText, (parts) => {
      try {
        parse(parts.join(''))
      } catch (error) {
        expect(error).toBeInstanceOf(UserError)
        expect((error as UserError).message).toMatch(/^p\.md:\d+:\d+ {2}.+\n {2}.*\n {2} *\^+$/)
      }
    }),
    { numRuns: 3000 },
  )
})

const COMMAND = /^\/+(?:read|push|run|queue|send|check|receive|inbox|cancel)(?=\s|$)/

const withoutNul = (text: string) => !text.includes('\0')
const content = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      nearText.map((parts) => parts.join('')),
    ),
  )
  .map((lines) => lines.join('\n'))
  .filter(withoutNul)

test('a content without commands at its ends is returned unchanged', () => {
  fc.assert(
    fc.property(content, (text) => {
      // Between two ordinary lines, everything is content.
      const prompt = `Begin.\n${text}\nEnd.`
      expect(parse(prompt)).toEqual({ setup: [], content: prompt, teardown: [] })
    }),
    { numRuns: 1000 },
  )
})

const word = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() !== '')
const name = fc.stringMatching(/^[a-z0-9]([a-z0-9._#-]{0,20}[a-z0-9])?$/)
const push = fc.record(
  {
    kind: fc.constant('push' as const),
    name: name.filter((text) => !text.includes('..') && text !== 'main'),
    agent: fc.stringMatching(/^[!-~]([ -~]*[!-~])?$/),
    // With a digit: what looks like a misspelt name of a model is refused.
    model: fc.stringMatching(/^[!-~]*\d[!-~]*$/),
    timeoutMs: fc.integer({ min: 1, max: 10 ** 9 }),
    retry: fc.integer({ min: 0, max: 100 }),
    isolation: fc.constantFrom('shared', 'worktree'),
    on: fc.constantFrom('success', 'failure', 'always'),
    onParentEnd: fc.constantFrom('wait', 'cancel'),
    prompt: fc
      .array(fc.oneof(word, fc.constantFrom('\n', '\t', '"', '\\', "'", '/read x')), {
        minLength: 1,
      })
      .map((parts) => parts.join(''))
      .filter((text) => text.trim() !== '' && !text.includes('\r') && withoutNul(text)),
  },
  { requiredKeys: ['kind', 'prompt'] },
)
/** Before the content the outcome of the agent is not known. */
const always = <T extends { on?: unknown }>({ on: _on, ...command }: T) => command
const read = fc.record({ kind: fc.constant('read' as const), path: word })
const count = fc.integer({ min: 1, max: 1000 })
const run = fc.oneof(
  fc.constant({ kind: 'run' as const }),
  fc.record({ kind: fc.constant('run' as const), count }),
  fc.record({ kind: fc.constant('run' as const), parallel: count }),
)

type Unplaced<T> = T extends unknown ? Omit<T, 'line'> : never

function render(command: Unplaced<SetupCommand>): string {
  if (command.kind === 'read') return `/read ${quote(command.path)}`
  if (command.kind === 'run') {
    if (command.parallel !== undefined) return `/run parallel=${command.parallel}`
    return command.count === undefined ? '/run' : `/run ${command.count}`
  }
  const { timeoutMs } = command
  const options = {
    name: command.name,
    agent: command.agent,
    model: command.model,
    timeout: timeoutMs === undefined ? undefined : `${timeoutMs}ms`,
    retry: command.retry?.toString(),
    isolation: command.isolation,
    on: command.on,
    on_parent_end: command.onParentEnd,
  }
  const words = Object.entries(options).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${quote(value)}`],
  )
  return ['/push', ...words, quote(command.prompt)].join(' ')
}

/** Bare, in '…' or in "…", whichever is the first that can hold the value. */
function quote(value: string): string {
  if (/^[\w./:-]+$/.test(value) && !value.startsWith('-')) return value
  if (!/['\n]/.test(value)) return `'${value}'`
  const escaped = value.replaceAll(/["\\]/g, String.raw`\$&`)
  return `"${escaped.replaceAll('\n', String.raw`\n`).replaceAll('\t', String.raw`\t`)}"`
}

/** Where a line of the content would be a command, or an escape of one, it gets a slash more. */
function escapeContent(text: string): string {
  const lines = text.split('\n')
  const isOrdinary = (line: string) => line.trim() !== '' && !COMMAND.test(line)
  const first = lines.findIndex(isOrdinary)
  const last = lines.findLastIndex(isOrdinary)
  return lines
    .map((line, index) => {
      const isAtEdge = first === -1 || index < first || index > last
      return isAtEdge && COMMAND.test(line) ? `/${line}` : line
    })
    .join('\n')
}

const isPlaced = (text: string) =>
  text === '' || (!/^\s|\s$|^\uFEFF/.test(text) && text.trim() !== '')

test('every spelling of a prompt parses to the same phases', () => {
  const input = fc.record({
    setup: fc.array(fc.oneof(read, push.map(always), run), { maxLength: 6 }),
    content: content.filter(isPlaced).filter((text) => !text.includes('\r')),
    teardown: fc.array(push, { maxLength: 4 }),
    newline: fc.constantFrom('\n', '\r\n', '\n\n', '\n \t\r\n'),
  })
  fc.assert(
    fc.property(input, ({ setup, content: text, teardown, newline }) => {
      const after = text === '' ? [] : unique(teardown)
      const before = unique(setup)
      const prompt = [
        ...before.map(render),
        ...(text === '' ? [] : [escapeContent(text)]),
        ...after.map(render),
      ].join(newline)
      const phases = parse(prompt)
      expect(withoutLines(phases)).toEqual({ setup: before, content: text, teardown: after })
      expectPlaces(prompt, [...phases.setup, ...phases.teardown])
      expect(withoutLines(parse(renderPhases(phases)))).toEqual(withoutLines(phases))
    }),
    { numRuns: 1500 },
  )
})

/** Names are given once; a second one is left out. */
function unique<T extends Unplaced<SetupCommand>>(commands: readonly T[]): T[] {
  const seen = new Set<string>()
  return commands.filter((command) => {
    if (command.kind !== 'push' || command.name === undefined) return true
    return !seen.has(command.name) && seen.add(command.name)
  })
}

function withoutLines({ setup, content: text, teardown }: Phases): object {
  const strip = (command: SetupCommand): object => ({ ...command, line: undefined })
  return { setup: setup.map(strip), content: text, teardown: teardown.map(strip) }
}

function expectPlaces(prompt: string, commands: readonly SetupCommand[]): void {
  const lines = prompt.split('\n')
  for (const { kind, line } of commands) expect(lines[line - 1]).toStartWith(`/${kind}`)
}
