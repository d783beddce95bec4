import { expect, test } from 'bun:test'
import type { Command } from './command.ts'
import { columns, renderHelp } from './help.ts'
import { COMMAND_NAMES, FORKHESTRA } from './forkhestra.ts'
import { loadCommand } from './program.ts'

const COMMANDS = await Promise.all(
  COMMAND_NAMES.filter((name) => name !== 'tasks').map(
    async (name) => [name, (await loadCommand(FORKHESTRA, name)) as Command] as const,
  ),
)

const COMMAND: Command = {
  summary: 'Do something.',
  usage: ['forkhestra do [x]', 'forkhestra do --all'],
  examples: [
    ['forkhestra do', 'the usual'],
    ['forkhestra do -p x', 'with a prompt'],
  ],
  options: {
    prompt: { short: 'p', value: '<text>', help: 'the prompt' },
    all: { help: 'everything' },
  },
  run: () => Promise.resolve(0),
}

test('the help shows examples first, and every option', () => {
  expect(renderHelp(COMMAND, 'forkhestra')).toBe(`Do something.

Examples:
  forkhestra do       the usual
  forkhestra do -p x  with a prompt

Usage:
  forkhestra do [x]
  forkhestra do --all

Options:
  -p, --prompt <text>  the prompt
  --all                everything
  --color <when>       colour: never, always or auto (default: auto, on a terminal)
  -h, --help           show this help

More: forkhestra --help`)
})

test('the main help does not refer to itself', () => {
  expect(renderHelp(COMMAND)).not.toContain('More:')
})

test('a long left side pushes its text to the next line', () => {
  const long = 'x'.repeat(50)
  expect(
    columns([
      ['a', 'short'],
      [long, 'long'],
    ]),
  ).toEqual([`  ${'a'.padEnd(44)}  short`, `  ${long}\n  ${' '.repeat(44)}  long`])
  expect(columns([])).toEqual([])
})

test.each(COMMANDS)('the help of %s fits a screen of 100 columns', (_, command) => {
  for (const line of renderHelp(command).split('\n')) {
    expect(Bun.stringWidth(line)).toBeLessThanOrEqual(100)
  }
})

test.each(COMMANDS)('the examples of %s begin with the program', (_, command) => {
  expect(command.examples.length).toBeGreaterThan(0)
  for (const [example] of command.examples) expect(example).toContain('forkhestra ')
})

test('no two options of a command share a letter, and none takes that of the help', () => {
  for (const [, { options }] of COMMANDS) {
    const letters = Object.values(options).flatMap(({ short }) => short ?? [])
    expect(new Set(letters).size).toBe(letters.length)
    expect(letters).not.toContain('h')
  }
})

test('every command of the contract exists or is reserved, and none is both', () => {
  const contract =
    'run init list validate doctor completions fake-model ' +
    'runs show logs cost clean worktrees stop resume retry-now ' +
    'prompt push run-queue check receive send queue inbox cancel chat mcp tasks help version status ' +
    'ui watch worker workers store upgrade uninstall'
  const names = [...COMMAND_NAMES, ...FORKHESTRA.reserved!]
  expect(names.toSorted()).toEqual(contract.split(' ').toSorted())
})
