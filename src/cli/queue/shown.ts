import { Mask } from '../../base/secrets/mask.ts'
import { UserError } from '../../base/errors.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import type { ChainsConfig } from '../../parse/chains-schema.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Message } from '../../queue/message.ts'
import type { TaskBrief } from '../../queue/task.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import { secretsOf } from '../secrets.ts'
import type { Caller } from './caller.ts'
import { configurationOf } from './configuration.ts'
import { planIn } from './store.ts'

/** What is as long as this was cut off by the store. */
const BEGINNING = 200

/** Tasks as they may be shown. Their prompts are kept as they are: agents need them so. */
export async function shownTasks(
  tasks: readonly TaskBrief[],
  of: Pick<Caller, 'run' | 'record'>,
): Promise<readonly TaskBrief[]> {
  if (tasks.length === 0) return tasks
  const mask = await maskOf(of)
  const shown = ({ beginning, ...task }: TaskBrief) => ({
    ...task,
    beginning: beginning.length < BEGINNING ? beginning : withoutCut(beginning, mask),
  })
  return mask.data(tasks.map(shown))
}

/** The end of what was cut off may be the beginning of a secret, and is left out then. */
function withoutCut(text: string, mask: Mask): string {
  return Buffer.from(mask.stream().push(Buffer.from(text))).toString()
}

/** Messages as they may be shown: an agent of the run gets them as they were sent. */
export async function shownMessages(
  messages: readonly Message[],
  { isInside, ...of }: Pick<Caller, 'run' | 'record' | 'isInside'>,
): Promise<readonly Message[]> {
  // Results are masked before they are kept.
  const isAsSent = isInside || !messages.some(({ kind }) => kind === 'text')
  return isAsSent ? messages : (await maskOf(of)).data(messages)
}

/** Knows the secrets of a run, also those that only its configuration holds. */
async function maskOf({ run, record }: Pick<Caller, 'run' | 'record'>): Promise<Mask> {
  const env = makeAgentEnvironment(process.env, ownFolder())
  const recorded = planIn(record)
  if (!isWhole(recorded)) return new Mask(env)
  const content = (await ifUsable(() => configurationOf(recorded)))?.content ?? { chains: {} }
  const { readRecorded } = await import('../resume-run.ts')
  const whole = await ifUsable(() => readRecorded(run, record, env))
  const plan = whole?.plan ?? recorded
  return new Mask({ ...secretsOf(plan, env, content.agents), ...configuredSecrets(content) })
}

function isWhole(plan: Partial<Plan>): plan is Plan {
  return plan.root !== undefined && plan.recoveries !== undefined
}

/** Of the configuration as it is now: where it has changed, the plan is not known to the last word. */
function configuredSecrets({ chains }: ChainsConfig): Record<string, string> {
  const secrets: Record<string, string> = {}
  for (const [chain, { env, steps }] of Object.entries(chains)) {
    for (const [index, given] of [env, ...steps.map((step) => step.env)].entries()) {
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
