import { expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import { binaryEngine } from './engine.ts'
import type { BinaryAgent, Turn } from '../engine.ts'

const AGENT: BinaryAgent = { engine: 'binary', name: 'worker', program: '/bin/worker' }
const LIMIT = 100 * 1024
const ARGUMENT_LIMIT = 128 * 1024

const argv = (turn: Partial<Turn>, agent = AGENT) =>
  binaryEngine.prepare(agent, { cwd: '/p', args: [], prompt: undefined, loop: false, ...turn }).argv

test.each<[string, Partial<Turn>, string[]]>([
  ['nothing', {}, []],
  ['arguments', { args: ['--task', 'a b', ''] }, ['--task', 'a b', '']],
  ['a prompt', { prompt: 'Do it\nnow' }, ['Do it\nnow']],
  ['both, the prompt last', { args: ['-x'], prompt: '--y' }, ['-x', '--y']],
])('a program is called with %s', (_, turn, args) => {
  expect(argv(turn)).toEqual(['/bin/worker', ...args])
})

test('a program without an interpreter line is called through one', () => {
  const agent = { ...AGENT, interpreter: '/bin/sh' }
  expect(argv({ args: ['-x'] }, agent)).toEqual(['/bin/sh', '/bin/worker', '-x'])
})

test('the marker is looked for only in a loop, failure messages always', () => {
  const facts = (loop: boolean, stream: 'out' | 'err') => {
    const launch = binaryEngine.prepare(AGENT, { cwd: '/p', args: [], prompt: undefined, loop })
    const decoder = launch.decode(stream)!
    const text = 'ORCHESTRA_COMPLETE\nCredit balance is too low\n'
    return [...decoder.push(Buffer.from(text)), ...decoder.end()].map(({ type }) => type)
  }
  expect(facts(true, 'out')).toEqual(['marker', 'printed_failure'])
  expect(facts(false, 'out')).toEqual(['printed_failure'])
  expect(facts(true, 'err')).toEqual(['marker_refused', 'printed_failure'])
  expect(facts(false, 'err')).toEqual(['printed_failure'])
})

test('a prompt of exactly the limit is accepted, one byte more is refused', () => {
  expect(argv({ prompt: 'x'.repeat(LIMIT) })[1]).toHaveLength(LIMIT)
  expect(() => argv({ prompt: 'x'.repeat(LIMIT + 1) })).toThrow(UserError)
})

test('the refusal of a prompt shows its size in bytes and the limit', () => {
  expect(() => argv({ prompt: '日'.repeat(50 * 1024) })).toThrow(
    "The prompt for 'worker' has 153600 bytes; the limit for a program is 102400 (100 KiB).",
  )
})

test('an argument that is too long for the system is refused before the start', () => {
  const longest = 'x'.repeat(ARGUMENT_LIMIT - 1)
  expect(argv({ args: ['-x', longest] })).toEqual(['/bin/worker', '-x', longest])
  expect(() => argv({ args: ['-x', `${longest}x`] })).toThrow(UserError)
  expect(() => argv({ args: ['é'.repeat(ARGUMENT_LIMIT)] })).toThrow(
    "An argument for 'worker' has 262144 bytes; the system allows less than 131072.",
  )
})

test('the system accepts the longest argument that passes the check', () => {
  const { stdout, exitCode } = Bun.spawnSync(['printf', '%s', 'x'.repeat(ARGUMENT_LIMIT - 1)])
  expect([stdout.length, exitCode]).toEqual([ARGUMENT_LIMIT - 1, 0])
})

test('files that were read come before the prompt, or replace it', () => {
  const reads = [{ path: 'a.md', ok: true as const, text: 'alpha', mtimeMs: 0 }]
  expect(argv({ prompt: 'Go', reads })[1]).toMatch(
    /<file path="a.md" id="\w+">\nalpha\n[^]*\n\nGo$/,
  )
  expect(argv({ args: ['-x'], reads }).slice(1)).toEqual([
    '-x',
    expect.stringContaining('\nalpha\n'),
  ])
})

const long = (path: string, length: number) => ({
  path,
  ok: true as const,
  text: 'é'.repeat(length / 2),
  mtimeMs: 0,
})

test('a file that does not fit becomes an error, and the others are included', () => {
  const reads = [long('a.md', 60 * 1024), long('b.md', 60 * 1024), long('c.md', 30 * 1024)]
  const text = argv({ prompt: 'Go', reads })[1]!
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMIT)
  expect(text).toContain('<file path="a.md" id=')
  expect(text).toContain(
    '<file path="b.md" error="Cannot include b.md: it is 60 KiB, and the limit for a prompt with its files is 100 KiB. Read it yourself."/>',
  )
  expect(text).toContain('<file path="c.md" id=')
  expect(text).toEndWith('\n\nGo')
})

test('files may fill the argument up to the last byte', () => {
  const around = Buffer.byteLength(argv({ prompt: 'Go', reads: [long('a.md', 2)] })[1]!) - 2
  const most = argv({ prompt: 'Go', reads: [long('a.md', LIMIT - around)] })[1]!
  expect([Buffer.byteLength(most), most.includes(' error=')]).toEqual([LIMIT, false])
  const more = argv({ prompt: 'Go', reads: [long('a.md', LIMIT - around + 2)] })[1]!
  expect(more).toContain(' error=')
})

test('too many files for an argument are refused with a hint', () => {
  const reads = Array.from({ length: 3000 }, (_, index) => long(`${index}.md`, 10))
  expect(() => argv({ prompt: 'Go', reads })).toThrow(
    /^The prompt for 'worker' with its files has \d+ bytes; /,
  )
})
