import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { build } from '../scripts/build.ts'

// What forkhestra does, in a few seconds: agents plan and build in a temporary repository, and then a
// night goes wrong in several ways. The agents are small scripts or, with --claude, the real Claude
// Code with a scripted model; the program that runs them is the real one.

const root = join(import.meta.dir, '..')
const program = join(root, 'bin/forkhestra')

/** Whether the program is missing or older than its sources. */
function isOutdated(): boolean {
  const built = statSync(program, { throwIfNoEntry: false })
  if (built === undefined) return true
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|md|jsonc?)$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => join('src', path))
  const parts = ['package.json', 'scripts/build.ts', ...sources]
  return parts.some((path) => statSync(join(root, path)).mtimeMs > built.mtimeMs)
}

/** The user's environment without git settings: hooks and signing keys must not affect the demo. */
function makeEnvironment(folder: string): Record<string, string> {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...(Object.fromEntries(outer) as Record<string, string>),
    PATH: [join(folder, 'agents'), join(root, 'bin'), process.env['PATH']].join(delimiter),
    XDG_STATE_HOME: join(folder, 'state'),
    XDG_CONFIG_HOME: join(folder, 'config'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    // Lets root run the stand-in for Claude Code, which is harmless.
    IS_SANDBOX: '1',
  }
}

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
}

function makeRepository(folder: string): Place {
  const place = { cwd: join(folder, 'project'), env: makeEnvironment(folder) }
  for (const path of [place.cwd, join(folder, 'agents')]) mkdirSync(path)
  for (const agent of ['plan', 'build']) copyAgent(agent, place)
  git(['init', '--quiet'], place)
  git(['config', 'user.name', 'forkhestra demo'], place)
  git(['config', 'user.email', 'demo@example.invalid'], place)
  return place
}

function copyAgent(agent: string, { cwd }: Place): void {
  copyFileSync(join(import.meta.dir, 'agents', agent), join(cwd, '../agents', agent))
}

function git(args: readonly string[], { cwd, env }: Place): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd, env })
  if (!success) throw new Error(`git ${args.join(' ')} failed: ${stderr.toString()}`)
  return stdout.toString()
}

const SCRIPTED_AGENTS = ['plan:3 -> build:10', '--prompt', 'Build the web site']

/** Prepares a run of the built-in agents, with the real `claude` and a scripted model. */
function makeSpecs({ cwd, env }: Place): readonly string[] {
  copyFileSync(join(import.meta.dir, 'night.jsonc'), join(cwd, '../night.jsonc'))
  mkdirSync(join(cwd, 'forge/orch/specs'), { recursive: true })
  copyFileSync(join(import.meta.dir, 'SPECS.md'), join(cwd, 'forge/orch/specs/SPECS.md'))
  // A separate home folder: the user's settings could select the real model.
  env['HOME'] = join(cwd, '../home')
  delete env['CLAUDE_CONFIG_DIR']
  return ['fake-model', '../night.jsonc', '--', 'forkhestra', '--chain', 'build-all']
}

const quote = (word: string) => (/^[\w./:-]+$/.test(word) ? word : `"${word}"`)

/** The run that receives our signals. */
let running: Bun.Subprocess | undefined

/** Passes signals on to the run, so that we can clean up after it. */
function handSignalsOn(): void {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const) {
    // A key typed at the terminal signals both processes; a second signal would kill the agent at once.
    const isTyped = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')
    process.on(signal, () => (isTyped ? undefined : running?.kill(signal)))
  }
}

function showCommand(args: readonly string[]): void {
  console.log(`$ forkhestra ${args.map(quote).join(' ')}\n`)
}

/** Runs the program on the user's terminal. */
async function runProgram(args: readonly string[], { cwd, env }: Place): Promise<number> {
  showCommand(args)
  running = Bun.spawn([program, ...args], { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
  return running.exited
}

/** Kills the program once it has printed the words; returns its exit code if it ends before. */
async function killWhenItSays(
  words: string,
  args: readonly string[],
  { cwd, env }: Place,
): Promise<number | undefined> {
  showCommand(args)
  // One pipe for both streams keeps their order.
  const both = ['sh', '-c', 'exec "$0" "$@" 2>&1', program, ...args]
  const child = Bun.spawn(both, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  running = child
  let said = ''
  for await (const bytes of child.stdout) {
    process.stdout.write(bytes)
    said += Buffer.from(bytes).toString()
    if (!said.includes(words)) continue
    child.kill('SIGKILL')
    console.log(`\n$ kill -9 ${child.pid}\n`)
    break
  }
  const exitCode = await child.exited
  return child.signalCode === 'SIGKILL' ? undefined : exitCode
}

/** A usage limit, a failing check and a kill -9; then the run is resumed. */
async function showBadNight(place: Place): Promise<number> {
  const folder = join(place.cwd, 'forge/orch')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(import.meta.dir, 'chains.jsonc'), join(folder, 'chains.json'))
  copyAgent('claude', place)
  console.log('\n$ cat forge/orch/chains.json')
  console.log(readFileSync(join(folder, 'chains.json'), 'utf8'))
  const message = 'Add the chain night'
  console.log(`$ git add forge/orch/chains.json\n$ git commit --quiet -m "${message}"\n`)
  git(['add', 'forge/orch/chains.json'], place)
  git(['commit', '--quiet', '-m', message], place)
  const exitCode = await killWhenItSays('Writing them now.', ['--chain', 'night'], place)
  return exitCode ?? runProgram(['resume', '--kill-orphans'], place)
}

async function demo(isClaude: boolean): Promise<number> {
  if (Bun.which('git') === null) {
    console.error('The demo needs git, because the agents in it commit their work. Install git.')
    return 1
  }
  if (isClaude && Bun.which('claude') === null) {
    console.error(
      'There is no claude on PATH. Install it: npm install -g @anthropic-ai/claude-code',
    )
    return 1
  }
  if (isOutdated()) {
    console.log('Building bin/forkhestra …\n')
    await build()
  }
  const folder = mkdtempSync(join(tmpdir(), 'forkhestra-demo-'))
  handSignalsOn()
  try {
    const place = makeRepository(folder)
    const exitCode = await runProgram(isClaude ? makeSpecs(place) : SCRIPTED_AGENTS, place)
    console.log(`\n$ echo $?\n${exitCode}`)
    const nightCode = exitCode === 0 && !isClaude ? await showBadNight(place) : exitCode
    console.log(
      `\n$ git log --oneline --reverse\n${git(['log', '--all', '--oneline', '--reverse'], place)}`,
    )
    return nightCode
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

process.exit(await demo(process.argv.includes('--claude')))
