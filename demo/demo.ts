import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { build } from '../scripts/build.ts'

// What forkhestra is for, in ten seconds: agents plan and build in a throw-away repository. They are
// small scripts, or with --claude the real Claude Code with a scripted model; the program that runs
// them is the real one.

const root = join(import.meta.dir, '..')
const program = join(root, 'bin/forkhestra')

/** Whether the program is missing or older than what it is made of. */
function isOutdated(): boolean {
  const built = statSync(program, { throwIfNoEntry: false })
  if (built === undefined) return true
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|md|jsonc?)$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => join('src', path))
  const parts = ['package.json', 'scripts/build.ts', ...sources]
  return parts.some((path) => statSync(join(root, path)).mtimeMs > built.mtimeMs)
}

/** The user's environment without their git settings: a hook or a signing key is not for a demo. */
function makeEnvironment(folder: string): Record<string, string> {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...(Object.fromEntries(outer) as Record<string, string>),
    PATH: [join(folder, 'agents'), join(root, 'bin'), process.env['PATH']].join(delimiter),
    XDG_STATE_HOME: join(folder, 'state'),
    XDG_CONFIG_HOME: join(folder, 'config'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  }
}

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
}

function makeRepository(folder: string): Place {
  const place = { cwd: join(folder, 'project'), env: makeEnvironment(folder) }
  for (const path of [place.cwd, join(folder, 'agents')]) mkdirSync(path)
  for (const agent of ['plan', 'build']) {
    copyFileSync(join(import.meta.dir, 'agents', agent), join(folder, 'agents', agent))
  }
  git(['init', '--quiet'], place)
  git(['config', 'user.name', 'forkhestra demo'], place)
  git(['config', 'user.email', 'demo@example.invalid'], place)
  return place
}

function git(args: readonly string[], { cwd, env }: Place): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd, env })
  if (!success) throw new Error(`git ${args.join(' ')} failed: ${stderr.toString()}`)
  return stdout.toString()
}

const SCRIPTED_AGENTS = ['plan:3 -> build:10', '--prompt', 'Build the web site']

/** The built-in agents with a real `claude`, whose model is a script. */
function makeSpecs({ cwd, env }: Place): readonly string[] {
  copyFileSync(join(import.meta.dir, 'night.jsonc'), join(cwd, '../night.jsonc'))
  mkdirSync(join(cwd, 'forge/orch/specs'), { recursive: true })
  copyFileSync(join(import.meta.dir, 'SPECS.md'), join(cwd, 'forge/orch/specs/SPECS.md'))
  // A home of its own: the settings of a user could lead to the real model.
  Object.assign(env, { HOME: join(cwd, '../home'), IS_SANDBOX: '1' })
  delete env['CLAUDE_CONFIG_DIR']
  return ['fake-model', '../night.jsonc', '--', 'forkhestra', '--chain', 'build-all']
}

const quote = (word: string) => (/^[\w./:-]+$/.test(word) ? word : `"${word}"`)

/** Runs the chain in front of the person; signals are for it to answer, so that we can clean up. */
async function runChain(args: readonly string[], { cwd, env }: Place): Promise<number> {
  console.log(`$ forkhestra ${args.map(quote).join(' ')}\n`)
  const child = Bun.spawn([program, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const) {
    // What is typed at a terminal reaches both of us; a second one would mean: at once.
    const isTyped = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')
    process.on(signal, () => (isTyped ? undefined : child.kill(signal)))
  }
  return child.exited
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
  try {
    const place = makeRepository(folder)
    const exitCode = await runChain(isClaude ? makeSpecs(place) : SCRIPTED_AGENTS, place)
    console.log(`\n$ echo $?\n${exitCode}`)
    console.log(
      `\n$ git log --oneline --reverse\n${git(['log', '--all', '--oneline', '--reverse'], place)}`,
    )
    return exitCode
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

process.exit(await demo(process.argv.includes('--claude')))
