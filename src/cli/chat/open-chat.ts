import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { randomLetters } from '../../base/ids.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { makeStamp } from '../../events/event.ts'
import { readState } from '../../journal/read-run.ts'
import { recordPlaces } from '../../journal/record-folder.ts'
import { RunLock } from '../../journal/run-lock.ts'
import { findRun, type RunBrief } from '../../journal/runs.ts'
import { applyOverrides, raiseBudgets } from '../../plan/make-policy.ts'
import { makePlan } from '../../plan/make-plan.ts'
import { checkKey } from '../../plan/native-agent.ts'
import { stepsOf, type Plan } from '../../plan/plan.ts'
import { lookAround } from '../../setup/facts.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import type { carryOut } from '../carry-out.ts'
import type { Input } from '../command.ts'
import { makeIdentity } from '../identity.ts'
import { dealWithOrphans, endOrphansOf } from '../orphans.ts'
import { readOverrides } from '../overrides.ts'
import { agentsOf } from '../queue/configuration.ts'
import { refuseUnsound } from '../queue/store.ts'
import { checkOwn } from '../records/foreign.ts'
import { isChat } from '../records/is-chat.ts'
import { configurationFor, projectOf } from '../project.ts'
import { recordsOf } from '../records/place.ts'
import { readRecorded, RunIsDriven } from '../resume-run.ts'
import { checkDepth } from '../run-chain.ts'
import { asChat, withChatAgent, withModel } from './chat-agent.ts'
import { chatsIn } from './list-chats.ts'

/** A chat that is about to begin, or to go on. */
export interface Chat {
  readonly plan: Plan
  readonly warnings: readonly string[]
  readonly options: Pick<Parameters<typeof carryOut>[2], 'env' | 'stamp' | 'agents' | 'resumed'>
}

export async function beginChat(input: Input, word: string | undefined): Promise<Chat> {
  const { run, stamp } = makeIdentity()
  const project = projectOf(input)
  const { folder: cwd, here } = project
  const env = makeAgentEnvironment(process.env, ownFolder())
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const facts = lookAround(env)
  const configuration = await configurationFor(input, project)
  const { content, base, file, hash } = configuration
  const { name, agents } = withChatAgent(input, word, content.agents ?? {}, facts, cwd)
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
      overrides: readOverrides(input),
      rawPrompt: input.flag('raw-prompt'),
      ...(file === undefined || hash === undefined ? {} : { configuration: { file, hash } }),
      ...(prices === undefined ? {} : { prices }),
      ...(queueLimits === undefined ? {} : { queueLimits }),
    },
    facts,
  )
  const chat = asChat(plan)
  const places = recordPlaces(project, process.env)
  const orphans = await dealWithOrphans(places, input.flag('kill-orphans'))
  return { plan: chat, warnings: [...warnings, ...orphans], options: { env, stamp, agents } }
}

export async function goOnWithChat(input: Input, word: string | undefined): Promise<Chat> {
  const { id, folder } = chooseChat(input, word)
  checkOwn({ id, folder }, recordsOf(input))
  await refuseUnsound(id, folder)
  const lock = takeLock(id, folder)
  if (!(lock instanceof RunLock)) throw new RunIsDriven(id, lock)
  const env = makeAgentEnvironment(process.env, ownFolder())
  const { state, seq } = readState(folder)
  const { plan: recorded, warnings } = await readRecorded(id, folder, env)
  const overrides = readOverrides(input)
  const changed = raiseBudgets(applyOverrides(recorded, overrides), overrides.budget ?? {})
  const plan = withModel(changed, input)
  for (const step of stepsOf(plan.root)) checkKey(step, lookAround(env))
  const ended = await endOrphansOf(id, input.flag('kill-orphans'))
  const stamp = makeStamp(id, `w-${randomLetters(6)}`, seq + 1)
  const agents = await agentsOf(plan)
  const resumed = { folder, lock, state }
  return { plan, warnings: [...warnings, ...ended], options: { env, stamp, agents, resumed } }
}

/** A chat that cannot be written to cannot go on. */
function takeLock(id: string, folder: string): ReturnType<typeof RunLock.take> {
  try {
    return RunLock.take(folder)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    throw new ChatNotKept(`The chat ${id} cannot go on: ${errorText(error)}.`, folder)
  }
}

/** What keeps a chat from its record may be mended. */
export class ChatNotKept extends UserError {
  override readonly exitCode = 1

  constructor(message: string, place: string) {
    super(message, `It is kept in ${place}: see to it that this can be written, and has space.`)
  }
}

function chooseChat(input: Input, word: string | undefined): RunBrief {
  const places = recordsOf(input)
  if (word === undefined) {
    const newest = chatsIn(places).find(({ foreign }) => foreign === undefined)
    if (newest !== undefined) return newest
    throw new UserError('There is no chat yet.', 'Begin one: forkhestra chat')
  }
  const run = findRun(places, word)
  if (isChat(run.folder)) return run
  throw new UserError(
    `The run ${run.id} is no chat.`,
    `Go on with it: forkhestra resume ${run.id}. The chats: forkhestra chat --list`,
  )
}
