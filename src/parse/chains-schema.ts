// The small variant of the library: it loads in a third of the time, and the words are ours anyway.
import * as z from 'zod/mini'
import {
  ENGINES,
  MODEL,
  MODEL_WORDS_BY_ENGINE,
  NATIVE_MODEL,
  PERMISSION_MODES,
} from './agent-words.ts'
import { MAX_ITERATIONS } from './dsl.ts'
import { CHAIN_POLICY_FIELDS, POLICY_FIELDS, stepName, type OnFailConfig } from './policy-schema.ts'
import {
  about,
  agentName,
  count,
  flag,
  makeShape,
  text,
  texts,
  type IsThere,
} from './schema-fields.ts'
import { findStep, targetWords } from './step-targets.ts'

const model = () =>
  z
    .string({ error: 'a model name' })
    .check(z.regex(NATIVE_MODEL, { error: MODEL_WORDS_BY_ENGINE }))
    .register(
      ...about(
        'sonnet, opus, haiku, or a full model id (it contains a digit); of the engine native also provider/id. Default: sonnet.',
      ),
    )

const permissionMode = () =>
  z
    .enum(PERMISSION_MODES, {
      error: '"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk" or "plan"',
    })
    .register(...about('What claude may do without asking. Absent: everything.'))

const LIMITLESS = Number.MAX_SAFE_INTEGER

const engine = () =>
  z
    .enum(ENGINES, { error: '"claude" or "native"' })
    .register(
      ...about(
        'Who plays the agent: claude, or native: forkhestra itself, without a coding CLI. Default: claude.',
      ),
    )

const ADDRESS_ERROR = 'an address such as "http://127.0.0.1:11434/v1"'

const baseUrl = () =>
  z
    .string({ error: ADDRESS_ERROR })
    .check(z.regex(/^https?:\/\/[^\s/]/, { error: ADDRESS_ERROR }))
    .register(...about('Where a native agent asks its model, if not where the provider is.'))

const apiKeyEnv = () =>
  z
    .string({ error: 'the name of a variable' })
    .check(
      z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
        error: 'the name of a variable, never the key itself',
      }),
    )
    .register(
      ...about('Variable with the key of a native agent, if not the usual one of its provider.'),
    )

const amount = (description: string) => {
  const error = 'an amount in US dollars, 0 or more'
  return z
    .number({ error })
    .check(z.minimum(0, { error }))
    .register(...about(description))
}

const prices = () =>
  z
    .record(
      z.string(),
      z.strictObject(
        {
          input: amount('For a million tokens that the model reads.'),
          output: amount('For a million tokens that it writes.'),
          cacheRead: z.optional(amount('For what comes from its cache. Default: as input.')),
          cacheWrite: z.optional(amount('For what goes into its cache. Default: as input.')),
        },
        { error: 'an object such as { "input": 2, "output": 10 }' },
      ),
      { error: 'an object of prices by model' },
    )
    .register(...about('What models of native agents cost, in US dollars for a million tokens.'))

const OF_NATIVE = ['baseUrl', 'apiKeyEnv', 'tools', 'maxOutputTokens'] as const
const OF_CLAUDE = ['mcpConfig', 'settings', 'permissionMode', 'args', 'userSettings'] as const

/** What only the engine as a whole can tell: a field that does nothing promises something. */
function findMisplaced(agent: Readonly<Record<string, unknown>>): WrongName[] {
  const isNative = agent['engine'] === 'native'
  const { model: name } = agent
  const others = isNative ? OF_CLAUDE : OF_NATIVE
  const words = isNative ? 'nothing: the engine is native' : 'nothing: only with "engine": "native"'
  return [
    ...others.flatMap((field) =>
      agent[field] === undefined ? [] : [{ path: [field], message: words }],
    ),
    ...(!isNative && typeof name === 'string' && !MODEL.test(name)
      ? [{ path: ['model'], message: MODEL_WORDS_BY_ENGINE }]
      : []),
  ]
}

const AGENT_FIELDS = {
  defaultPrompt: () => text('Prompt where neither command line, step nor chain gives one.'),
  defaultPromptFile: () => text('The same, from a file, read again at every iteration.'),
  engine: () => z.optional(engine()),
  systemPrompt: () => text('File with the system prompt; makes this a direct-spawn agent.'),
  systemPromptText: () => text('System prompt as text; wins over systemPrompt.'),
  mcpConfig: () => text('MCP configuration file of the agent.'),
  settings: () => text('Settings file of the agent.'),
  model: () => z.optional(model()),
  baseUrl: () => z.optional(baseUrl()),
  apiKeyEnv: () => z.optional(apiKeyEnv()),
  tools: () => flag('False: the model of a native agent knows no tools. Default: true.'),
  maxOutputTokens: () => count(LIMITLESS, 'Tokens of one answer of a native agent, at most.'),
  maxTurns: () => count(Number.MAX_SAFE_INTEGER, 'Turns per iteration. Default: 100.'),
  allowedTools: () => texts('The only tools that the agent may use.'),
  disallowedTools: () => texts('Tools that the agent may not use.'),
  permissionMode: () => z.optional(permissionMode()),
  args: () => texts('Further arguments for claude, before those of the command line.'),
  userSettings: () => flag("False: the user's own settings of claude do not apply. Default: true."),
  queue: () =>
    flag(
      'Whether the agent gets the tools for queue and inbox. Absent: where its prompt has /push or /run.',
    ),
  tasks: () =>
    flag(
      'Whether the agent builds from forge-tasks, so that its marker counts only once no task is ready. Absent: by its name and its system prompt.',
    ),
  ...POLICY_FIELDS,
}

const makeAgentSchema = (isThere: IsThere) =>
  z
    .strictObject(makeShape(AGENT_FIELDS, isThere), {
      error: 'an object with the fields of an agent',
    })
    .check(
      z.check(({ value, issues }) => {
        for (const { path, message } of findMisplaced(value)) {
          issues.push({ code: 'custom', input: value, path, message })
        }
      }),
    )

const STEP_FIELDS = {
  name: stepName,
  iterations: () =>
    count(MAX_ITERATIONS, 'Loop until the marker, at most this often. Absent: run once.'),
  args: () => texts('Arguments for this step, behind those of the command line.'),
  prompt: () => text('Prompt of this step.'),
  promptFile: () => text('The same, from a file, read again at every iteration.'),
  ...POLICY_FIELDS,
}

const makeStepSchema = (isThere: IsThere) =>
  z.strictObject(
    { agent: agentName, ...makeShape(STEP_FIELDS, isThere) },
    {
      error: 'an object such as { "agent": "builder", "iterations": 20 }',
    },
  )

const CHAIN_TEXTS = {
  description: () => text('One line for people.'),
  prompt: () => text('Prompt of every step that has none of its own.'),
  promptFile: () => text('The same, from a file, read again at every iteration.'),
}

export const makeChainSchema = (isThere: IsThere = () => true) =>
  z
    .strictObject(
      {
        ...makeShape(CHAIN_TEXTS, isThere),
        steps: z
          .array(makeStepSchema(isThere), { error: 'a list of steps' })
          .check(z.minLength(1, { error: 'at least one step' }))
          .register(...about('What runs, in order.')),
        ...makeShape(CHAIN_POLICY_FIELDS, isThere),
      },
      { error: 'an object with "steps"' },
    )
    .check(
      z.check(({ value, issues }) => {
        for (const { path, message } of findWrongNames(value)) {
          issues.push({ code: 'custom', input: value, path, message })
        }
      }),
    )

interface WrongName {
  readonly path: (string | number)[]
  readonly message: string
}

/** What only the chain as a whole can tell of the names in it. */
function findWrongNames({ steps, onFail }: Pick<ChainConfig, 'steps' | 'onFail'>): WrongName[] {
  const wrong = (target: OnFailConfig | undefined, path: (string | number)[]): WrongName[] =>
    typeof target === 'object' && 'goto' in target && findStep(target.goto, steps) === undefined
      ? [{ path: [...path, 'onFail', 'goto'], message: targetWords(steps) }]
      : []
  return [
    ...wrong(onFail, []),
    ...steps.flatMap((step, index) => [
      ...wrong(step.onFail, ['steps', index]),
      ...(step.name !== undefined && steps.findIndex(({ name }) => name === step.name) !== index
        ? [{ path: ['steps', index, 'name'], message: 'a name that no other step has' }]
        : []),
    ]),
  ]
}

/** A result of the greatest length fits into so many. */
const LEAST_MESSAGE_BYTES = 1024 * 1024
const LEAST_ERROR = `a whole number from ${LEAST_MESSAGE_BYTES} on`

const queueLimits = () =>
  z
    .strictObject(
      {
        depth: count(LIMITLESS, 'How far below the main agent a task may be. Default: 5.'),
        running: count(LIMITLESS, 'Tasks of a run at work at once. Default: 16.'),
        queued: count(LIMITLESS, 'Tasks of a run that wait. Default: 10000.'),
        messageBytes: z.optional(
          z
            .int({ error: LEAST_ERROR })
            .check(z.minimum(LEAST_MESSAGE_BYTES, { error: LEAST_ERROR }))
            .register(...about('Bytes of a prompt of a task, or of a message. Default: 1048576.')),
        ),
      },
      { error: 'an object with "depth", "running", "queued" or "messageBytes"' },
    )
    .register(...about('What the queues and inboxes of a run may not exceed.'))

const agents = (isThere: IsThere) =>
  z
    .record(z.string(), makeAgentSchema(isThere), { error: 'an object of agents by name' })
    .register(...about('Agents by name: their defaults, or, with a system prompt, all of them.'))

/** The schema of a file with these keys; of all that there are where nothing is said. */
export const makeChainsSchema = (isThere: IsThere = () => true) =>
  z
    .strictObject(
      {
        ...makeShape(
          {
            $schema: () => text('Where editors find this schema.'),
            agents: () => z.optional(agents(isThere)),
            queueLimits: () => z.optional(queueLimits()),
            prices: () => z.optional(prices()),
          },
          isThere,
        ),
        chains: z
          .record(z.string(), makeChainSchema(isThere), {
            error: 'an object of chains by name, {} if there are none',
          })
          .register(...about('Chains by name; run one with forkhestra --chain NAME.')),
      },
      { error: 'an object with "chains"' },
    )
    .register(...about('Configuration of forkhestra: forge/orch/chains.json'))

type Made<Make extends (isThere: IsThere) => z.ZodMiniType> = z.infer<ReturnType<Make>>

export type QueueLimits = Made<typeof queueLimits>
export type AgentConfig = Made<typeof makeAgentSchema>
export type StepConfig = Made<typeof makeStepSchema>
export type ChainConfig = Made<typeof makeChainSchema>
export type ChainsConfig = Made<typeof makeChainsSchema>
