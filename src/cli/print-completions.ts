import { loadConfiguration } from '../setup/configuration.ts'
import { openProject, pathFromProject } from '../setup/project.ts'
import type { Input } from './command.ts'
import { SHELLS } from './commands/completions.ts'
import { COST_KEYS } from './commands/cost.ts'
import { untilde } from './completions/paths.ts'
import { printCompletions as print } from './completions/print.ts'
import { DIRECTORIES, FILES, oneOf, type Program, type Source } from './completions/program.ts'
import { isChat } from './records/is-chat.ts'
import { runIds } from './records/run-ids.ts'
import { VERBS } from './verbs.ts'

/** The verb `completions`. */
export function printCompletions(input: Input): Promise<number> {
  return print(PROGRAM, input)
}

const chains: Source = async ({ options }) => {
  const [cwd, config] = ['cwd', 'config'].map((name) => options.get(name)?.at(-1))
  const project = openProject(untilde(cwd), process.env)
  const given = config === undefined ? undefined : pathFromProject(untilde(config)!, project)
  const { content } = await loadConfiguration(project.folder, given, process.env)
  const names = Object.entries(content.chains)
  return { candidates: names.map(([value, { description }]) => ({ value, text: description })) }
}

/** Whom one can talk to, or which chat can go on. */
const chats: Source = async (typed) => {
  if (typed.positionals.length > 0) return undefined
  if (typed.options.has('resume')) return runIds(undefined, isChat)(typed)
  const { folder } = openProject(untilde(typed.options.get('cwd')?.at(-1)), process.env)
  const { content } = await loadConfiguration(folder, undefined, process.env)
  const agents = Object.entries(content.agents ?? {}).filter(
    ([, agent]) => agent.engine === 'native',
  )
  return { candidates: agents.map(([value, { model }]) => ({ value, text: model })) }
}

const PROGRAM: Program = {
  name: 'forkhestra',
  verbs: {
    ...Object.fromEntries(
      Object.entries(VERBS).map(([name, command]) => [
        name,
        { summary: command.summary, load: () => Promise.resolve(command) },
      ]),
    ),
    tasks: {
      summary: 'The task database that agents and people share.',
      program: async () => (await import('./tasks/completions/program.ts')).TASKS_PROGRAM,
    },
  },
  aliases: {},
  unwritten: 'run',
  values: {
    chain: chains,
    cwd: DIRECTORIES,
    config: FILES,
    'prompt-file': FILES,
    model: oneOf(['sonnet', 'opus', 'haiku']),
    log: FILES,
    by: oneOf(COST_KEYS),
  },
  words: {
    run: FILES,
    chat: chats,
    'fake-model': FILES,
    prompt: (typed) => (typed.positionals.length === 0 ? oneOf(['check'])(typed) : FILES(typed)),
    completions: oneOf(SHELLS),
    help: (typed) =>
      typed.positionals.length === 0 ? oneOf(Object.keys(VERBS))(typed) : undefined,
    show: runIds(),
    logs: runIds(),
    cost: runIds(),
    resume: runIds(['failed', 'stopped', 'dead']),
    stop: runIds(['running', 'waiting']),
    'retry-now': runIds(['waiting']),
  },
  rest: FILES,
}
