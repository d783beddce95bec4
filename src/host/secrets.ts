import type { Environment } from '../base/environment.ts'
import { unmask, type Mask } from '../base/secrets/mask.ts'
import { MASKED } from '../base/secrets/encodings.ts'
import { isSecretName } from '../base/secrets/names.ts'
import type { Lacks } from '../records/events/schema.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { renderTemplate } from '../chain/parse/template.ts'
import { shownHost } from '../chain/plan/notify.ts'
import type { Plan, StepNode } from '../chain/plan/plan.ts'
import { allSteps, findMissingTexts, restoreTexts, withoutConfigurationText } from './plan-texts.ts'

/** The configured agents: any of them may get a queued task. */
type Agents = Readonly<
  Record<string, { readonly env?: Readonly<Record<string, string>> | undefined }>
>

/**
 * Values that may be secrets, by name: the environment, the variables of the configuration, and the values
 * of options such as `--password`. A name that is not in the environment is prefixed with its step, so
 * that a resumed run does not take another value from its environment.
 */
export function secretsOf(
  plan: Plan,
  env: Readonly<Record<string, string>>,
  agents: Agents = {},
): Record<string, string> {
  const secrets: Record<string, string> = { ...env }
  for (const step of allSteps(plan)) {
    for (const [name, value] of Object.entries(step.policy.env)) {
      secrets[env[name] === value ? name : nameIn(step, name)] = value
    }
    for (const [option, value] of secretArguments(step)) {
      const isTaken = (secrets[option] ?? value) !== value
      secrets[isTaken ? nameIn(step, option) : option] = value
    }
  }
  for (const [agent, { env: given = {} }] of Object.entries(agents)) {
    for (const [name, value] of Object.entries(given)) {
      const own = `${agent}.${name}`
      // An agent may be named `step1`.
      const isTaken = (secrets[own] ?? value) !== value
      secrets[env[name] === value ? name : isTaken ? `agents.${own}` : own] = value
    }
  }
  return { ...secrets, ...webhooksOf(plan.notify, env) }
}

/** The URLs of the webhooks of a plan, some of which are in variables. */
export function webhooksOf(notify: Plan['notify'] = [], env: Environment): Record<string, string> {
  return secretUrls(
    'notify',
    notify.map(({ url, urlEnv = '' }) => url ?? env[urlEnv]),
  )
}

/** The URLs of all webhooks in a configuration, whichever chain is run: its text is recorded. */
export function webhooksIn(content: Pick<ChainsConfig, 'notify' | 'chains'> | undefined) {
  const lists = [
    content?.notify,
    ...Object.values(content?.chains ?? {}).map((each) => each.notify),
  ]
  const urls = lists.flatMap((list) => list?.map(({ url }) => url) ?? [])
  return secretUrls('configuration', urls)
}

/** Each URL that is more than an ordinary host, and the parts that programs print alone. */
function secretUrls(owner: string, urls: readonly (string | undefined)[]): Record<string, string> {
  const secrets: Record<string, string> = {}
  for (const [index, text = ''] of urls.entries()) {
    const url = URL.parse(text)
    if (url === null) continue
    const { host, origin, pathname, search } = url
    const isHostSecret = shownHost(url) !== host
    if (text.length <= origin.length + 1 && !isHostSecret) continue
    const path = `${pathname}${search}`
    secrets[`${owner}.url-secret-${index + 1}`] = text
    if (path.length >= SHORTEST_PATH) secrets[`${owner}.path-secret-${index + 1}`] = path
    if (isHostSecret) secrets[`${owner}.host-secret-${index + 1}`] = host
  }
  return secrets
}

/** A shorter path may also occur in ordinary text. */
const SHORTEST_PATH = 16

/** All strings in a configuration, by the names of their fields. */
export function namedIn(content: unknown): Record<string, string> {
  const named: Record<string, string> = {}
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, each] of Object.entries(value)) {
      // Only webhooks have a `url`, which is a secret.
      const key = name === 'url' ? 'url-secret' : name
      if (typeof each === 'string') named[`${Object.keys(named).length}.${key}`] = each
      else visit(each)
    }
  }
  visit(content)
  return named
}

/** The name of a secret that only one step has. */
export function nameIn({ number }: StepNode, name: string): string {
  return `step${number}.${name}`
}

function secretArguments({ args }: StepNode): (readonly [name: string, value: string])[] {
  const words = args.map(renderTemplate)
  return words.flatMap((word, index) => {
    const [, option = '', value = words[index + 1]] =
      /^(--?[A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? []
    const isSecret = isSecretName(option) && value !== undefined && !value.startsWith('-')
    return isSecret ? [[option, value] as const] : []
  })
}

/** The secrets that a resumed run needs again, because records do not contain them. */
export function findMissingSecrets(
  plan: Plan,
  mask: Mask,
  env: Readonly<Record<string, string>>,
  content: ChainsConfig | undefined,
): Lacks | undefined {
  // A resume continues without a webhook whose URL it does not know.
  const { notify: _, ...bare } = withoutConfigurationText(plan).plan
  const recorded = restoreTexts(mask.data(bare), { content }, mask)
  // A resume reads these from the configuration.
  const configured = [
    ...Object.keys(webhooksIn(content)),
    // These are in variables.
    ...Object.keys(
      webhooksOf(
        plan.notify?.map(({ url: __, ...rest }) => rest),
        env,
      ),
    ),
    ...allSteps(plan).flatMap((step) =>
      Object.keys(step.policy.env).map((name) => nameIn(step, name)),
    ),
  ]
  const { missing } = unmask(recorded, env)
  const names = missing.filter((name) => name !== MASKED && !configured.includes(name))
  const texts = findMissingTexts(recorded)
  // Texts first: masking would take a word after an option such as --password for its value.
  const what = [...texts.map(({ words }) => words), ...names]
  if (what.length === 0) return undefined
  const isPrompt = names.length === 0 && texts.every((text) => text.isPrompt)
  return { what, ...(isPrompt ? { prompt: true } : {}) }
}

/** Warns the user about secrets in plain text, which the record cannot contain. */
export function missingSecretsWarning({ what, prompt }: Lacks): string {
  const then =
    prompt === true
      ? 'to resume this run, you will have to pass the prompt again'
      : 'if this run dies, it cannot be resumed. Put them into environment variables'
  return `the plan contains secrets in plain text (${what.join(', ')}), which are not recorded: ${then}`
}
