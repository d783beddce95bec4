import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, type Peer as Installable } from '../tasks/install.ts'
import type { Tool } from './judge.ts'
import { TASK_MASTER_FILES } from './task-master.ts'

/** A tool that npm can install. */
interface Peer extends Tool {
  readonly package: string
  /** Relative to the folder where it is installed. */
  readonly program: string
}

const PROMISE = '<promise>COMPLETE</promise>'
const STORY = {
  id: 'US-001',
  title: 'Write one',
  description: 'Write a file.',
  acceptanceCriteria: ['The file is there.'],
  priority: 1,
  passes: false,
  dependsOn: [],
}

export const PEERS: readonly Peer[] = [
  {
    name: 'ralph-tui',
    package: 'ralph-tui',
    version: '0.11.0',
    program: 'node_modules/.bin/ralph-tui',
    marker: PROMISE,
    setUp: (program, iterations) => ({
      argv: [program, 'run', '--headless', '--no-setup', '--no-notify', '--agent', 'claude'].concat(
        ['--prd', 'prd.json', '--delay', '0', '--iterations', String(iterations)],
      ),
      files: {
        'prd.json': JSON.stringify({ name: 'One', branchName: 'main', userStories: [STORY] }),
      },
    }),
    isDone: ({ cwd }) => /"passes":\s*true/.test(readFileSync(join(cwd, 'prd.json'), 'utf8')),
    remark: 'one user story in `prd.json`; done means that it has `"passes": true`',
  },
  {
    name: 'ralphy',
    package: 'ralphy-cli',
    version: '4.7.2',
    program: 'node_modules/.bin/ralphy',
    marker: PROMISE,
    setUp: (program, iterations) => ({
      argv: [program, '--claude', '--fast', '--no-commit', '--prd', 'PRD.md'].concat([
        '--max-iterations',
        String(iterations),
      ]),
      files: { 'PRD.md': '# PRD\n\n- [ ] Write a file\n' },
    }),
    isDone: ({ cwd }) => readFileSync(join(cwd, 'PRD.md'), 'utf8').includes('- [x]'),
    remark:
      'one task in `PRD.md`; done means that it is ticked. It has no marker: an agent that ends has done its task',
  },
  {
    name: 'ralph-starter',
    package: 'ralph-starter',
    version: '0.5.2',
    program: 'node_modules/.bin/ralph-starter',
    marker: PROMISE,
    setUp: (program, iterations) => ({
      argv: [program, 'run', 'Write a file.', '--agent', 'claude-code', '--no-auto-skills'].concat(
        ['--headless', '--output-dir', '.', '--completion-promise', PROMISE],
        ['--max-iterations', String(iterations)],
      ),
      files: {},
    }),
    isDone: ({ code }) => code === 0,
    remark: 'with `--completion-promise`; done means that it ends with exit code 0',
  },
  {
    name: 'sandcastle',
    package: '@ai-hero/sandcastle',
    version: '0.12.0',
    program: 'node_modules/@ai-hero/sandcastle/dist/index.js',
    marker: PROMISE,
    setUp: (program, iterations) => ({
      argv: ['node', 'drive.mjs'],
      files: { 'drive.mjs': driveSandcastle(program, iterations) },
    }),
    isDone: ({ output }) => output.includes('"completionSignal":'),
    remark:
      'a library: `run()` with `noSandbox()` from a script of ten lines; done means that its result has a `completionSignal`',
  },
  {
    name: 'task-master loop',
    package: 'task-master-ai',
    version: '0.43.1',
    program: 'node_modules/task-master-ai/dist/task-master.js',
    marker: '<loop-complete>ALL TASKS DONE</loop-complete>',
    setUp: (program, iterations) => ({
      argv: ['node', program, 'loop', '--iterations', String(iterations)],
      files: TASK_MASTER_FILES,
    }),
    isDone: ({ output }) => output.includes('All tasks complete'),
    remark: 'one pending task; done means that it says `All tasks complete`',
  },
]

function driveSandcastle(program: string, iterations: number): string {
  return `
import { claudeCode, run } from ${JSON.stringify(program)}
import { noSandbox } from ${JSON.stringify(join(program, '../sandboxes/no-sandbox.js'))}
const result = await run({
  agent: claudeCode('sonnet'),
  sandbox: noSandbox(),
  prompt: 'Write a file.',
  maxIterations: ${iterations},
  completionSignal: ${JSON.stringify(PROMISE)},
})
console.log(JSON.stringify({ completionSignal: result.completionSignal }))
`
}

/** Returns the path of the program; throws `Unavailable` if npm cannot install it. */
export function installPeer(peer: Peer): string {
  return install({ ...peer, from: 'npm' } as Installable, peer.program)
}

/** Similar tools that are not compared, and why. */
export function listOthers(): string[] {
  return OTHERS.map(
    (other) =>
      `- ${other.name} (\`${other.package}\`): ${other.why ?? (isOnNpm(other.package) ? 'not driven yet' : 'npm does not find it')}`,
  )
}

const OTHERS: readonly { name: string; package: string; why?: string }[] = [
  { name: 'autoloop', package: '@mobrienv/autoloop' },
  { name: 'open-ralph-wiggum', package: '@th0rgal/ralph-wiggum' },
  { name: 'MartinLoop', package: 'martin-loop' },
  {
    name: 'ralph-orchestrator',
    package: '@ralph-orchestrator/ralph-cli',
    why: 'the package has no program in it, it fetches one from GitHub when it is first started',
  },
]

function isOnNpm(name: string): boolean {
  return Bun.spawnSync(['npm', 'view', name, 'version'], { timeout: 60_000 }).exitCode === 0
}
