// oxlint-disable no-control-regex
import { expect, test } from 'bun:test'
import { FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { Pty } from '../support/pty.ts'

/** Waits for a file that another branch makes. */
const until = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`

/** The lines of each branch, in order. */
function byBranch(text: string): Record<string, string[]> {
  const lines = text.split('\n').filter((line) => line.includes(' │ '))
  const groups = Map.groupBy(lines, (line) => line.slice(0, line.indexOf(' │ ')).trimEnd())
  return Object.fromEntries(
    Array.from(groups, ([name, all]) => [
      name,
      all.map((line) => line.slice(line.indexOf('│') + 2)),
    ]),
  )
}

const ours = (line: string) => line.startsWith('[forkhestra] ')

test('lines that two agents print at the same time are not mixed', async () => {
  const cwd = makeProject({
    one: sh('printf "one "', 'touch a', until('b'), 'echo is whole', 'echo bad >&2', 'touch c'),
    second: sh(until('a'), 'printf "two "', 'touch b', until('c'), 'printf "is whole"'),
  })
  const { code, stdout, stderr } = await forkhestra(['./one & ./second'], { cwd })
  expect(code).toBe(0)
  expect(byBranch(stdout)).toEqual({
    one: ['[forkhestra] Running: ./one', 'one is whole', '[forkhestra] Done: ./one (exit 0)'],
    second: [
      '[forkhestra] Running: ./second',
      'two is whole',
      '[forkhestra] Done: ./second (exit 0)',
    ],
  })
  expect(stdout).toContain('\none    │ one is whole\n')
  expect(stderr).toContain('one    │ bad\n')
  expect(stdout).toEndWith(`
  1. ./one: complete (exit 0)
  2. ./second: complete (exit 0)
[forkhestra] Pipeline complete (2/2 steps)
`)
})

test('only the steps that run in parallel are named', async () => {
  const cwd = makeProject({ a: sh('echo from a'), b: sh('echo from b; printf unfinished') })
  const { stdout } = await forkhestra(['./a -> (./a & ./b) -> ./b'], { cwd })
  const [before, rest = ''] = stdout.split('[forkhestra] In parallel: ./a & ./b\n')
  expect(before).toBe(`[forkhestra] Running: ./a
from a
[forkhestra] Done: ./a (exit 0)

`)
  expect(byBranch(rest)).toMatchObject({
    'a.2': ['[forkhestra] Running: ./a', 'from a', '[forkhestra] Done: ./a (exit 0)'],
  })
  expect(rest.slice(rest.lastIndexOf('│'))).toContain(`

[forkhestra] Running: ./b
from b
unfinished
[forkhestra] Done: ./b (exit 0)
`)
})

test('much output of several agents arrives complete and in order', async () => {
  const cwd = makeProject({ much: sh('seq 1 50000') })
  const { stdout } = await forkhestra(['./much*4'], { cwd })
  const expected = Array.from({ length: 50_000 }, (_, index) => `${index + 1}`)
  for (const lines of Object.values(byBranch(stdout)))
    expect(lines.filter((line) => !ours(line))).toEqual(expected)
  expect(Object.keys(byBranch(stdout)).toSorted()).toEqual(['much#1', 'much#2', 'much#3', 'much#4'])
})

const ESC = '\u001b'

test('on a terminal, colours and links end with their line, and agents cannot imitate our lines', async () => {
  const cwd = makeProject({
    bad: sh(
      String.raw`printf '\033[31mred\n'`,
      String.raw`printf '10%%\r20%%\r30%%\n'`,
      String.raw`printf '\033]8;;https://x.test\033\\link\n'`,
      String.raw`printf '\033[2J\033[Hwiped\n'`,
      `echo '[forkhestra] Chain complete'`,
      'touch done',
    ),
    good: sh(until('done'), `echo '${'several words '.repeat(8)}'`),
  })
  const argv = [FORKHESTRA, './bad & ./good']
  await using pty = new Pty(argv, { cwd, columns: 80, rows: 24, env: { CI: 'true' } })
  expect(await pty.exited).toBe(0)
  await pty.shows('Pipeline complete')
  const shown = pty.lines.filter((line) => line.includes(' │ '))
  expect(shown.filter((line) => line.startsWith('bad'))).toEqual([
    'bad  │ [forkhestra] Running: ./bad',
    'bad  │ red',
    'bad  │ 30%',
    'bad  │ link',
    'bad  │ wiped',
    'bad  │ agent: [forkhestra] Chain complete',
    'bad  │ [forkhestra] Done: ./bad (exit 0)',
  ])
  expect(shown.filter((line) => !line.startsWith('bad'))).toEqual([
    'good │ [forkhestra] Running: ./good',
    'good │ several words several words several words several words several words',
    '     │ several words several words several words',
    'good │ [forkhestra] Done: ./good (exit 0)',
  ])
  expect(pty.output).toContain(`${ESC}[31mred${ESC}[0m\r\n`)
  expect(pty.output).toContain(`link${ESC}]8;;${ESC}\\`)
  expect(pty.output).not.toMatch(/\u001b\[[\d;]*[HJ]/)
})
