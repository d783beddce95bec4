import { COLOUR_CHOICES } from '../../base/terminal/colour.ts'
import { BUILT_IN_CHAINS } from '../../chain/builtins/chains.ts'
import { loadConfiguration } from '../../host/configuration.ts'
import { pathFromProject } from '../../host/project.ts'
import { COST_KEYS } from '../../host/records/cost-table.ts'
import { isPresentable } from '../../host/records/describe-run.ts'
import { isChat } from '../../host/records/plan-in.ts'
import { withQueueState } from '../../host/records/with-queue.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { describeChain } from '../../views/runs.ts'
import { SHELLS } from '../commands/general.ts'
import { COMMAND_NAMES, FORKHESTRA } from '../forkhestra.ts'
import {
  DIRECTORIES,
  expandTilde,
  FILES,
  once,
  oneOf,
  typedProject,
  type Completions,
  type ValueSource,
} from './program.ts'

const chains: ValueSource = async ({ options }) => {
  const config = options.get('config')?.at(-1)
  const project = typedProject(options)
  const given = config === undefined ? undefined : pathFromProject(expandTilde(config), project)
  const { content } = await loadConfiguration(project.folder, given, process.env)
  // The project's own come first.
  const names = Object.entries({ ...content.chains, ...BUILT_IN_CHAINS, ...content.chains })
  return { candidates: names.map(([value, { description }]) => ({ value, text: description })) }
}

/** Recorded runs, filtered by status or by their folder. */
function runIds(
  wanted?: readonly RunBrief['status'][],
  isWanted: (folder: string) => boolean = () => true,
): ValueSource {
  return once(({ options }) => {
    const candidates = listRuns(recordPlaces(typedProject(options), process.env))
      .filter(({ status, folder }) => (wanted?.includes(status) ?? true) && isWanted(folder))
      .filter(isPresentable)
      .map(withQueueState)
      .map((run) => ({ value: run.id, text: `${run.status}, ${describeChain(run)}` }))
    return { candidates }
  })
}

/** Agents to chat with, or chats to resume. */
const chats = once(async (typed) => {
  if (typed.options.has('resume')) return runIds(undefined, isChat)(typed)
  const { folder } = typedProject(typed.options)
  const { content } = await loadConfiguration(folder, undefined, process.env)
  const agents = Object.entries(content.agents ?? {}).filter(
    ([, agent]) => agent.engine === 'native',
  )
  return { candidates: agents.map(([value, { model }]) => ({ value, text: model })) }
})

export const FORKHESTRA_COMPLETIONS: Completions = {
  program: FORKHESTRA,
  programs: {
    tasks: async () => (await import('../tasks/completions/program.ts')).TASKS_COMPLETIONS,
  },
  values: {
    chain: chains,
    cwd: DIRECTORIES,
    config: FILES,
    'prompt-file': FILES,
    copy: FILES,
    model: oneOf(['sonnet', 'opus', 'haiku']),
    log: FILES,
    by: oneOf(COST_KEYS),
    color: oneOf(COLOUR_CHOICES),
  },
  words: {
    run: FILES,
    chat: chats,
    'fake-model': FILES,
    prompt: (typed) => (typed.positionals.length === 0 ? oneOf(['check'])(typed) : FILES(typed)),
    completions: oneOf(SHELLS),
    help: once(oneOf(COMMAND_NAMES)),
    show: runIds(),
    logs: runIds(),
    cost: runIds(),
    resume: runIds(['failed', 'stopped', 'dead']),
    stop: runIds(['running', 'waiting']),
    'retry-now': runIds(['waiting']),
  },
  rest: FILES,
}
