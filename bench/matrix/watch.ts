import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeProject } from '../project.ts'
import type { Session } from './session.ts'
import { callsIn, standInFiles } from './stand-in.ts'

/** What can be observed of a tool from outside. */
export interface Watched {
  readonly cwd: string
  readonly calls: readonly number[]
  /** Undefined if it was still running at the end of the window, null if a signal ended it. */
  readonly code: number | null | undefined
  readonly output: string
}

export interface Setup {
  readonly argv: readonly string[]
  readonly files: Readonly<Record<string, string>>
}

const ROOT = join(import.meta.dir, '../..')
const VARIABLE = 'FORKHESTRA_MATRIX'
/** Time until the first call; some tools start slowly. */
const START_MS = 90_000
const POLL_MS = 100

/**
 * Runs a tool in a separate git repository with the stand-in as `claude`, until it exits or the window
 * after the first call is over. Then all its processes are killed.
 */
export async function watch(setup: Setup, session: Session, windowMs: number): Promise<Watched> {
  const folder = makeProject({
    ...standInFiles(session, 'bin'),
    'home/.gitconfig': '[user]\n\tname = matrix\n\temail = matrix@example.com\n',
    'tmp/.keep': '',
  })
  const cwd = join(folder, 'project')
  const env = { ...shutIn(folder), [VARIABLE]: folder }
  prepare(cwd, env, setup)
  const child = Bun.spawn([...offline(), ...setup.argv], {
    cwd,
    env,
    stdin: 'ignore',
    stdout: Bun.file(join(folder, 'output')),
    stderr: Bun.file(join(folder, 'errors')),
  })
  const limit = Date.now() + START_MS
  const isOver = () => {
    const [first] = callsIn(join(folder, 'bin'))
    return Date.now() > (first === undefined ? limit : first + windowMs)
  }
  const hasEnded = child.exited.then(() => true)
  const isRunning = async () => !(await Promise.race([hasEnded, Bun.sleep(POLL_MS)]))
  while (!isOver() && (await isRunning()));
  // Undefined while it is running.
  const code = child.signalCode === null ? (child.exitCode ?? undefined) : null
  endAll(folder)
  await child.exited
  const output = ['output', 'errors'].map((name) => readFileSync(join(folder, name), 'utf8'))
  return { cwd, calls: callsIn(join(folder, 'bin')), code, output: output.join('\n') }
}

function prepare(cwd: string, env: Record<string, string>, setup: Setup): void {
  mkdirSync(cwd)
  for (const [name, content] of Object.entries(setup.files)) {
    const path = join(cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  for (const words of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-q', '-m', 'Begin', '--allow-empty'],
  ]) {
    const { exitCode, stderr } = Bun.spawnSync(['git', ...words], { cwd, env })
    if (exitCode !== 0) throw new Error(`git ${words.join(' ')}: ${stderr.toString()}`)
  }
}

/** Without anything of the user: no home, keys or settings, and no `claude` but ours. */
function shutIn(folder: string): Record<string, string> {
  const node = Bun.which('node')
  const path = [
    join(folder, 'bin'),
    join(ROOT, 'node_modules/.bin'),
    ...(node === null ? [] : [dirname(node)]),
    '/usr/bin',
    '/bin',
  ]
  const nowhere = 'http://127.0.0.1:9'
  return {
    PATH: path.join(':'),
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'tmp'),
    TERM: 'dumb',
    TZ: 'UTC',
    IS_SANDBOX: '1',
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    http_proxy: nowhere,
    https_proxy: nowhere,
  }
}

let prefix: readonly string[] | undefined

/** An empty network namespace, if the system allows it. */
function offline(): readonly string[] {
  const words = ['unshare', '--map-root-user', '--net']
  prefix ??= Bun.which('unshare') && Bun.spawnSync([...words, 'true']).exitCode === 0 ? words : []
  return prefix
}

/** Finds processes by their environment, because some leave the process group. */
function endAll(stamp: string): void {
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || !isOf(pid, stamp)) continue
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // Already gone.
    }
  }
}

function isOf(pid: string, stamp: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${VARIABLE}=${stamp}`)
  } catch {
    return false
  }
}
