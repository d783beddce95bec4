import { dropUndefined } from '../../base/objects.ts'
import { UserError } from '../../base/errors.ts'
import { readRunState } from '../../records/journal/read-run.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import { findRun, type RunBrief } from '../../records/journal/runs.ts'
import { applyOverrides, raiseBudgets } from '../../chain/plan/overrides.ts'
import { makePlan } from '../../chain/plan/make-plan.ts'
import { checkKey } from '../../chain/plan/checks.ts'
import { stepsOf } from '../../chain/plan/plan.ts'
import { readPhases } from '../../chain/prompts/read-phases.ts'
import { MAIN } from '../../queue/task.ts'
import { refuseTasks } from '../../run/chain/chat-turns.ts'
import { readFacts } from '../facts.ts'
import { agentEnvironment } from '../own-folder.ts'
import type { ReadyRun } from '../run-session.ts'
import { loadConfiguration } from '../configuration.ts'
import type { FrontEnd } from '../front-end.ts'
import { checkDepth, makeIdentity, stampFor } from '../identity.ts'
import { clearOrphans, endOrphansOf } from '../orphans.ts'
import { agentsOf } from '../queue/configuration.ts'
import { refuseUnsound } from '../queue/store.ts'
import { SubAgents } from '../queue/sub-agent.ts'
import { checkOwn } from '../records/foreign.ts'
import { isChat } from '../records/plan-in.ts'
import { recordsOf, type ProjectRecords } from '../records/place.ts'
import { readRecorded, takeLock } from '../resume-run.ts'
import { asChat, withChatAgent, withModel, type ChosenModel } from './chat-agent.ts'
import { chatsIn } from './list-chats.ts'

export interface ChatOptions extends ChosenModel {
  /** The agent of a new chat, or the chat to resume. */
  readonly word?: string | undefined
  /** The value of --config. */
  readonly config?: string | undefined
  readonly overrides: Parameters<typeof applyOverrides>[1]
  readonly rawPrompt: boolean
  readonly killOrphans: boolean
}

export async function beginChat(frontEnd: FrontEnd, options: ChatOptions): Promise<ReadyRun> {
  const { env: outer, project } = frontEnd
  const { run, stamp } = makeIdentity(recordPlaces(project, outer))
  const { folder: cwd, here } = project
  const env = agentEnvironment(outer)
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = readFacts(env)
  const { content, base, file, hash } = await loadConfiguration(cwd, options.config, outer)
  const { agents: configured = {}, prices, queueLimits } = content
  const { name, agents } = withChatAgent(options, options.word, configured, facts, cwd)
  const { plan, warnings } = makePlan(
    {
      run,
      cwd,
      chain: { steps: [{ agent: name }] },
      agents,
      base: here,
      agentBase: base,
      variables: new Map(),
      args: [],
      cliPrompt: {},
      overrides: options.overrides,
      rawPrompt: options.rawPrompt,
      ...dropUndefined({ configuration: file && hash ? { file, hash } : undefined }),
      ...dropUndefined({ prices, queueLimits }),
    },
    facts,
  )
  const chat = asChat(plan)
  const places = recordPlaces(project, outer)
  const choice = { mayKill: options.killOrphans, isShared: true }
  const orphans = await clearOrphans(places, choice, frontEnd)
  return { plan: chat, warnings: [...warnings, ...orphans], session: { env, stamp, agents } }
}

/** Prepares a chat to continue. */
export async function resumeChat(frontEnd: FrontEnd, options: ChatOptions): Promise<ReadyRun> {
  const places = recordsOf(frontEnd)
  const { id, folder } = chooseChat(places, options.word)
  checkOwn({ id, folder }, places)
  await refuseUnsound(id, folder, frontEnd.env)
  const lock = takeLock({ id, folder })
  const env = agentEnvironment(frontEnd.env)
  const { state, seq } = readRunState(folder)
  const { plan: recorded, warnings } = await readRecorded(id, folder, env)
  const { overrides } = options
  const changed = raiseBudgets(applyOverrides(recorded, overrides), overrides.budget ?? {})
  const plan = withModel(changed, options)
  for (const step of stepsOf(plan.root)) checkKey(step, readFacts(env))
  const ended = await endOrphansOf({ run: id, record: folder }, options.killOrphans, frontEnd)
  const stamp = stampFor(id, seq)
  const agents = await agentsOf(plan, env)
  const resumed = { folder, lock, state }
  return { plan, warnings: [...warnings, ...ended], session: { env, stamp, agents, resumed } }
}

/** The chat with an id or part of it, by default the newest. */
export function chooseChat(places: ProjectRecords, word: string | undefined): RunBrief {
  if (word === undefined) {
    const chats = chatsIn(places)
    const newest = chats.find(({ foreign }) => foreign === undefined)
    if (newest !== undefined) return newest
    if (chats.length > 0)
      throw new UserError('No chat was created here.', 'See the others: forkhestra chat --list')
    throw new UserError('No chats yet.', 'Start one: forkhestra chat')
  }
  const run = findRun(places, word)
  if (isChat(run.folder)) return run
  throw new UserError(
    `Run ${run.id} is not a chat.`,
    `Resume it: forkhestra resume ${run.id}. List chats: forkhestra chat --list`,
  )
}

/** Refuses a message with a mistake, or with tasks that no agent can run, before the chat begins. */
export async function checkMessage(
  { plan, session: { env } }: ReadyRun,
  text: string,
): Promise<void> {
  const agents = new SubAgents(plan, env)
  const where = 'the prompt'
  await refuseTasks(readPhases([text], where), where, MAIN, stepsOf(plan.root)[0]!, {
    subAgent: (task, parent, pusher) => agents.find(task, parent, pusher),
  })
}
