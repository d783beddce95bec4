import { UserError } from '../../base/errors.ts'
import { randomLetters } from '../../base/ids.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { makeStamp } from '../../records/events/event.ts'
import { readRunState } from '../../records/journal/read-run.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import { findRun, type RunBrief } from '../../records/journal/runs.ts'
import { applyOverrides, raiseBudgets } from '../../chain/plan/overrides.ts'
import { makePlan } from '../../chain/plan/make-plan.ts'
import { checkKey } from '../../chain/plan/checks.ts'
import { stepsOf } from '../../chain/plan/plan.ts'
import { readFacts } from '../facts.ts'
import { ownFolder } from '../own-folder.ts'
import type { ReadyRun } from '../run-session.ts'
import { loadConfiguration } from '../configuration.ts'
import type { FrontEnd } from '../front-end.ts'
import { checkDepth, makeIdentity } from '../identity.ts'
import { dealWithOrphans, endOrphansOf } from '../orphans.ts'
import { agentsOf } from '../queue/configuration.ts'
import { refuseUnsound } from '../queue/store.ts'
import { checkOwn } from '../records/foreign.ts'
import { isChat } from '../records/is-chat.ts'
import { recordsOf, type Places } from '../records/place.ts'
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

/** Prepares a new chat. */
export async function beginChat(frontEnd: FrontEnd, options: ChatOptions): Promise<ReadyRun> {
  const { env: outer, project } = frontEnd
  const { run, stamp } = makeIdentity()
  const { folder: cwd, here } = project
  const env = makeAgentEnvironment(outer, ownFolder())
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = readFacts(env)
  const configuration = await loadConfiguration(cwd, options.config, outer)
  const { content, base, file, hash } = configuration
  const { name, agents } = withChatAgent(
    chosenIn(options),
    options.word,
    content.agents ?? {},
    facts,
    cwd,
  )
  const { prices, queueLimits } = content
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
      ...(file === undefined || hash === undefined ? {} : { configuration: { file, hash } }),
      ...(prices === undefined ? {} : { prices }),
      ...(queueLimits === undefined ? {} : { queueLimits }),
    },
    facts,
  )
  const chat = asChat(plan)
  const places = recordPlaces(project, outer)
  const choice = { mayKill: options.killOrphans, isShared: true }
  const orphans = await dealWithOrphans(places, choice, frontEnd)
  return { plan: chat, warnings: [...warnings, ...orphans], session: { env, stamp, agents } }
}

/** Prepares a chat to continue. */
export async function resumeChat(frontEnd: FrontEnd, options: ChatOptions): Promise<ReadyRun> {
  const places = recordsOf(frontEnd)
  const { id, folder } = chooseChat(places, options.word)
  checkOwn({ id, folder }, places)
  await refuseUnsound(id, folder, frontEnd.env)
  const lock = takeLock({ id, folder })
  const env = makeAgentEnvironment(frontEnd.env, ownFolder())
  const { state, seq } = readRunState(folder)
  const { plan: recorded, warnings } = await readRecorded(id, folder, env)
  const { overrides } = options
  const changed = raiseBudgets(applyOverrides(recorded, overrides), overrides.budget ?? {})
  const plan = withModel(changed, chosenIn(options))
  for (const step of stepsOf(plan.root)) checkKey(step, readFacts(env))
  const ended = await endOrphansOf({ run: id, record: folder }, options.killOrphans, frontEnd)
  const stamp = makeStamp(id, `w-${randomLetters(6)}`, seq + 1)
  const agents = await agentsOf(plan, env)
  const resumed = { folder, lock, state }
  return { plan, warnings: [...warnings, ...ended], session: { env, stamp, agents, resumed } }
}

function chosenIn({ model, baseUrl }: ChosenModel): ChosenModel {
  return {
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  }
}

function chooseChat(places: Places, word: string | undefined): RunBrief {
  if (word === undefined) {
    const newest = chatsIn(places).find(({ foreign }) => foreign === undefined)
    if (newest !== undefined) return newest
    throw new UserError('No chats yet.', 'Start one: forkhestra chat')
  }
  const run = findRun(places, word)
  if (isChat(run.folder)) return run
  throw new UserError(
    `Run ${run.id} is not a chat.`,
    `Resume it: forkhestra resume ${run.id}. List chats: forkhestra chat --list`,
  )
}
