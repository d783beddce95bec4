import { printable } from '../../base/printable.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'
import { ask, findProgram } from './program.ts'

const LIMIT_MS = 10_000
/** One record a change, and no git of its own in each submodule. */
const CALM = ['--no-renames', '--ignore-submodules=all']

/** Agents commit what they do: is there a repository, is it clean, and would a commit succeed? */
export async function checkGit(place: Place): Promise<Check[]> {
  const found = findProgram('git', place)
  if (found.kind !== 'program') {
    const text =
      found.kind === 'missing' ? 'is not on PATH' : `${printable(found.path)} is nothing to rely on`
    return [problem('git', text, 'Install git: agents keep their work in it.')]
  }
  const git = await openGit(found.path, place)
  const status = await git(['status', '--porcelain', '-z', ...CALM])
  if (status === undefined) {
    return [warning('git', `git status took more than ${LIMIT_MS / 1000} s`, 'Run it yourself.')]
  }
  if (status.code !== 0) return [withoutRepository(status.stderr)]
  return [describeStatus(status.stdout), await checkIdentity(git)]
}

type Git = (args: readonly string[]) => ReturnType<typeof ask>

/** Git as a reader that starts nothing which the repository's configuration names. */
async function openGit(path: string, { cwd, env }: Place): Promise<Git> {
  const bare = { ...env, LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' }
  const run = (args: readonly string[], more: Readonly<Record<string, string>>) =>
    ask([path, '--no-pager', ...args], { cwd, env: { ...bare, ...more }, limitMs: LIMIT_MS })
  const filters = await run(
    ['config', '-z', '--name-only', '--get-regexp', String.raw`^filter\.`],
    {},
  )
  // Comparing a file may run the filter of its attributes; as environment, because a name may hold `=`.
  const off = (filters?.stdout ?? '').split('\0').filter((name) => name !== '')
  const settings = ['core.fsmonitor', ...off].map((name) => [
    name,
    name === 'core.fsmonitor' || name.endsWith('.required') ? 'false' : '',
  ])
  const overrides = Object.fromEntries(
    settings.flatMap(([name = '', value = ''], index) => [
      [`GIT_CONFIG_KEY_${index}`, name],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  )
  return (args) => run(args, { ...overrides, GIT_CONFIG_COUNT: String(settings.length) })
}

function withoutRepository(stderr: string): Check {
  if (stderr.includes('not a git repository')) {
    return warning(
      'git',
      'this is no repository, so agents cannot commit their work',
      'Run: git init',
    )
  }
  const line = printable(stderr.trim().split('\n', 1)[0] ?? '')
  return problem('git', `git status fails: ${line}`, 'Run git status and do what it says.')
}

function describeStatus(output: string): Check {
  const count = output.split('\0').filter((record) => record !== '').length
  if (count === 0) return ok('git', 'a clean repository')
  const what = count === 1 ? '1 change is' : `${count} changes are`
  return warning(
    'git',
    `${what} not committed, and may end up in a commit of an agent`,
    'Commit first.',
  )
}

async function checkIdentity(git: Git): Promise<Check> {
  const idents = await Promise.all(
    ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git(['var', name])),
  )
  if (idents.every((answer) => answer?.code === 0)) return ok('commits', 'git knows whose they are')
  return problem(
    'commits',
    'git does not know whose they are and refuses them',
    'Run: git config user.name NAME && git config user.email ADDRESS',
  )
}
