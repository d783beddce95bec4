import { describe, expect, test } from 'bun:test'
import { parseInput } from '../../src/cli/command.ts'
import type { Command } from '../../src/cli/command.ts'
import { loadCommand } from '../../src/cli/program.ts'
import { FORGE_TASKS } from '../../src/cli/tasks/program.ts'
import { MarkerScanner } from '../../src/engines/marker/marker.ts'
import { MODE_AWARENESS_PREFIX } from '../../src/chain/prompts/system-prompt.ts'
import { BUILT_IN_AGENTS, promptFiles } from '../../src/chain/builtins/agents.ts'
import { STARTER_CONFIGURATION } from '../../src/chain/builtins/starter-files.ts'
import { STARTER_SPECS } from '../../src/chain/builtins/specs.ts'
import { TaskProject } from '../support/forge-tasks.ts'
import { shell } from '../support/forkhestra.ts'

const PROMPTS = [...promptFiles()].map(([path, text]) => [path, text] as const)

function blocksOf(markdown: string): string[] {
  const blocks = markdown.matchAll(/^( *)```sh\n([^]*?)^\1```$/gm)
  return Array.from(blocks, ([, indent = '', text = '']) => text.replaceAll(`\n${indent}`, '\n'))
}

/** What a prompt shows as code: inline, and the lines of its blocks, continued ones as one. */
function codeOf(markdown: string): string[] {
  const lines = blocksOf(markdown).flatMap((text) => text.replaceAll(/\\\n\s*/g, '').split('\n'))
  const prose = markdown.replaceAll(/^( *)```sh\n[^]*?^\1```$/gm, '')
  const inline = [...prose.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
  return [...inline, ...lines.map((line) => line.trim()).filter((line) => line !== '')]
}

function wordsOf(command: string): string[] {
  const typed = command.split('<<')[0]!
  return (typed.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''))
}

const commandsOf = (markdown: string) => codeOf(markdown).map(wordsOf)
const taskCommands = (markdown: string) =>
  commandsOf(markdown).filter(
    ([program, command]) => program === 'forge-tasks' && command !== undefined,
  )

function hasMarker(text: string): boolean {
  const scanner = new MarkerScanner()
  const facts = [...scanner.push(Buffer.from(text)), ...scanner.end()]
  return facts.some(({ type }) => type === 'marker')
}

describe.each(PROMPTS)('the prompt %s', (_, text) => {
  test('completes no step if an agent echoes it', () => {
    for (const echo of [text, MODE_AWARENESS_PREFIX + text, text.replaceAll(/^ *```.*$/gm, '')]) {
      expect(hasMarker(echo)).toBe(false)
    }
  })

  test('names the marker, and says when to end without it', () => {
    expect(text.split('ORCHESTRA_COMPLETE')).toHaveLength(2)
    expect(text.replaceAll(/\s+/g, ' ')).toMatch(/without\*{0,2} th(?:at|e) word/)
  })

  test('is complete: no hole is left to fill', () => {
    expect(text).not.toMatch(/\{\{|\}\}|\bundefined\b/)
  })

  test('names only commands and options of forge-tasks that exist', async () => {
    const commands = taskCommands(text)
    expect(commands.length).toBeGreaterThan(2)
    for (const [, name = '', ...args] of commands) {
      expect(Object.keys(FORGE_TASKS.commands)).toContain(name)
      const command = await loadTaskCommand(name)
      expect(() => parseInput(args, command)).not.toThrow()
    }
  })

  test('shows blocks that a shell can run', async () => {
    const project = new TaskProject()
    for (const title of ['A', 'B', 'C']) await project.must('create', title)
    for (const block of blocksOf(text)) {
      const { code, stderr } = await shell(`set -e\n${block}`, project.root)
      expect([code, stderr]).toEqual([0, ''])
    }
  })

  test('names no other programs than forge-tasks and git', () => {
    const programs = commandsOf(text).flatMap(([program, ...args]) =>
      program !== undefined && /^[a-z][a-z-]+$/.test(program) && args.length > 0 ? [program] : [],
    )
    expect(new Set(programs).difference(new Set(['forge-tasks', 'git']))).toEqual(new Set())
  })
})

async function loadTaskCommand(name: string): Promise<Command> {
  return (await loadCommand(FORGE_TASKS, name)) as Command
}

test('a wrong option in a prompt would be noticed', async () => {
  const [command = []] = taskCommands('Run `forge-tasks list --redy --plain`.')
  expect(command).toEqual(['forge-tasks', 'list', '--redy', '--plain'])
  const list = await loadTaskCommand('list')
  expect(() => parseInput(command.slice(2), list)).toThrow('did you mean --ready?')
})

test('the prompts of planner and builder cover the contract', () => {
  const { planner, builder, reviewer } = BUILT_IN_AGENTS
  for (const part of ['forge-tasks list --plain', 'You never implement', '--depends-on', '--ac'])
    expect(planner!.prompt).toContain(part)
  for (const part of [
    'next --claim',
    '--check-ac',
    '--status done',
    '--status blocked',
    'TASK-XXX: ',
  ])
    expect(builder!.prompt).toContain(part)
  expect(reviewer!.prompt).toContain('forge-tasks create')
})

test('the fk agents use only ralph/', () => {
  for (const [name, { prompt }] of Object.entries(BUILT_IN_AGENTS)) {
    expect(prompt).toContain('`ralph/`')
    expect([name, prompt.includes('forge/orch/specs')]).toEqual([name, !name.startsWith('fk:')])
  }
})

test('no file of init completes a step if an agent shows it', () => {
  for (const text of Object.values({ ...STARTER_CONFIGURATION, ...STARTER_SPECS }))
    expect(hasMarker(text)).toBe(false)
  expect(hasMarker('# Plan\n\nORCHESTRA_COMPLETE\n')).toBe(true)
})
