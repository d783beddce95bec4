import { Mask } from '../../base/secrets/mask.ts'
import { UserError } from '../../base/errors.ts'
import type { ChainsConfig } from '../../chain/parse/chains-schema.ts'
import { allLists } from '../../chain/parse/items.ts'
import type { InboxMessage } from '../../queue/message.ts'
import { BRIEF_LENGTH, MAIN, stepAgentName, type TaskBrief } from '../../queue/task.ts'
import type { FrontEnd } from '../front-end.ts'
import { agentEnvironment } from '../own-folder.ts'
import { secretsOf, webhooksIn } from '../secrets.ts'
import type { QueueCaller, OpenQueue } from './caller.ts'
import { configurationOf } from './configuration.ts'
import { planIn } from '../records/plan-in.ts'
import { hasSteps } from './store.ts'

/** The tasks of the caller, or with `all` those of every agent of the run. */
export async function describeQueue(opened: OpenQueue, all: boolean, env: FrontEnd['env']) {
  const { client, store, run } = opened
  const { tasks: own, counts } = await client.queue()
  const every = await store.list(run)
  const names = new Map(every.map(({ id, name }) => [id, name]))
  const shown = await maskTasks(all ? every : own, opened, env)
  return { tasks: shown.map((task) => taskJson(task, names)), counts, shown }
}

function taskJson(
  { id, run, name, parent, state, attempt, retry, ageMs, options, beginning, end }: TaskBrief,
  names: ReadonlyMap<string, string>,
) {
  const parentName = names.get(parent ?? '') ?? stepAgentName(run, parent) ?? MAIN
  const head = { id, name, parent: parentName, state, attempt, retry, ageMs }
  return { ...head, ...options, prompt: beginning, end }
}

/** Masked only for display: the store keeps prompts unmasked, because agents need them. */
async function maskTasks(
  tasks: readonly TaskBrief[],
  of: Pick<QueueCaller, 'run' | 'record'>,
  env: FrontEnd['env'],
): Promise<readonly TaskBrief[]> {
  if (tasks.length === 0) return tasks
  const mask = await maskOf(of, env)
  const shown = ({ beginning, ...task }: TaskBrief) => ({
    ...task,
    beginning: beginning.length < BRIEF_LENGTH ? beginning : dropPartialSecret(beginning, mask),
  })
  return mask.data(tasks.map(shown))
}

/** Drops the end of a truncated text if it may be the beginning of a secret. */
function dropPartialSecret(text: string, mask: Mask): string {
  return Buffer.from(mask.stream().push(Buffer.from(text))).toString()
}

/** Agents of the run get unmasked messages. */
export async function maskMessages(
  messages: readonly InboxMessage[],
  { isInside, ...of }: Pick<QueueCaller, 'run' | 'record' | 'isInside'>,
  env: FrontEnd['env'],
): Promise<readonly InboxMessage[]> {
  // Results are masked before they are stored.
  const isAsSent = isInside || !messages.some(({ kind }) => kind === 'text')
  return isAsSent ? messages : (await maskOf(of, env)).data(messages)
}

/** Knows the secrets of a run, including those in its configuration. */
export async function maskOf(
  { run, record }: Pick<QueueCaller, 'run' | 'record'>,
  outer: FrontEnd['env'],
): Promise<Mask> {
  const env = agentEnvironment(outer)
  const recorded = planIn(record)
  if (!hasSteps(recorded)) return new Mask(env)
  const content = (await ifUsable(() => configurationOf(recorded, env)))?.content ?? { chains: {} }
  const { readRecorded } = await import('../resume-run.ts')
  const whole = await ifUsable(() => readRecorded(run, record, env))
  const plan = whole?.plan ?? recorded
  return new Mask({
    ...webhooksIn(content),
    ...secretsOf(plan, env, content.agents),
    ...configuredSecrets(content),
  })
}

/** From the current configuration, in case the plan cannot be restored completely. */
function configuredSecrets({ chains }: ChainsConfig): Record<string, string> {
  const secrets: Record<string, string> = {}
  for (const [chain, { env, steps }] of Object.entries(chains)) {
    for (const [index, given] of [
      env,
      ...allLists(steps)
        .flat()
        .map((item) => item.env),
    ].entries()) {
      for (const [name, value] of Object.entries(given ?? {})) {
        secrets[`chains.${chain}.${index}.${name}`] = value
      }
    }
  }
  return secrets
}

async function ifUsable<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UserError) return undefined
    throw error
  }
}
