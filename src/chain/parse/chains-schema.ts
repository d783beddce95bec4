// The small variant loads in a third of the time, and we write the error messages ourselves.
import * as z from 'zod/mini'
import {
  ENGINES,
  MODEL,
  MODEL_HINT_BY_ENGINE,
  NATIVE_MODEL,
  PERMISSION_MODES,
} from './agent-values.ts'
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
import { findStep, describeTargets } from './step-targets.ts'

const model = () =>
  z
    .string({ error: 'a model name' })
    .check(z.regex(NATIVE_MODEL, { error: MODEL_HINT_BY_ENGINE }))
    .register(
      ...about(
        'sonnet, opus, haiku, or a full model id (it contains a digit); with the engine native also provider/id. Default: sonnet.',
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
        'What runs the agent: claude, or native: forkhestra itself, without a coding CLI. Default: claude.',
      ),
    )

const ADDRESS_ERROR = 'an address such as "http://127.0.0.1:11434/v1"'

const baseUrl = () =>
  z
    .string({ error: ADDRESS_ERROR })
    .check(z.regex(/^https?:\/\/[^\s/]/, { error: ADDRESS_ERROR }))
    .register(
      ...about('Base URL of the model API for a native agent. Default: that of the provider.'),
    )

const apiKeyEnv = () =>
  z
    .string({ error: 'the name of a variable' })
    .check(
      z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
        error: 'the name of a variable, never the key itself',
      }),
    )
    .register(
      ...about(
        'Variable with the API key of a native agent. Default: the usual one of its provider.',
      ),
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
          input: amount('Per million input tokens.'),
          output: amount('Per million output tokens.'),
          cacheRead: z.optional(
            amount('Per million tokens read from the cache. Default: as input.'),
          ),
          cacheWrite: z.optional(
            amount('Per million tokens written to the cache. Default: as input.'),
          ),
        },
        { error: 'an object such as { "input": 2, "output": 10 }' },
      ),
      { error: 'an object of prices by model' },
    )
    .register(...about('Prices of the models of native agents, in US dollars per million tokens.'))

const NATIVE_ONLY = ['baseUrl', 'apiKeyEnv', 'tools', 'maxOutputTokens'] as const
const CLAUDE_ONLY = ['mcpConfig', 'settings', 'permissionMode', 'args', 'userSettings'] as const

/** Fields that the agent's engine would ignore. */
function findMisplaced(agent: Readonly<Record<string, unknown>>): Issue[] {
  const isNative = agent['engine'] === 'native'
  const { model: name } = agent
  const others = isNative ? CLAUDE_ONLY : NATIVE_ONLY
  const words = isNative ? 'nothing: the engine is native' : 'nothing: only with "engine": "native"'
  return [
    ...others.flatMap((field) =>
      agent[field] === undefined ? [] : [{ path: [field], message: words }],
    ),
    ...(!isNative && typeof name === 'string' && !MODEL.test(name)
      ? [{ path: ['model'], message: MODEL_HINT_BY_ENGINE }]
      : []),
  ]
}

const AGENT_FIELDS = {
  defaultPrompt: () => text('Prompt if neither command line, step nor chain has one.'),
  defaultPromptFile: () => text('File with the default prompt, read again in every iteration.'),
  engine: () => z.optional(engine()),
  systemPrompt: () => text('File with the system prompt; makes this a direct-spawn agent.'),
  systemPromptText: () => text('System prompt as text; wins over systemPrompt.'),
  mcpConfig: () => text('MCP configuration file of the agent.'),
  settings: () => text('Settings file of the agent.'),
  model: () => z.optional(model()),
  baseUrl: () => z.optional(baseUrl()),
  apiKeyEnv: () => z.optional(apiKeyEnv()),
  tools: () => flag('False: the model of a native agent gets no tools. Default: true.'),
  maxOutputTokens: () => count(LIMITLESS, 'Most tokens of one answer of a native agent.'),
  maxTurns: () => count(LIMITLESS, 'Turns per iteration. Default: 100.'),
  allowedTools: () => texts('The only tools that the agent may use.'),
  disallowedTools: () => texts('Tools that the agent may not use.'),
  permissionMode: () => z.optional(permissionMode()),
  args: () => texts('Further arguments for claude, before those of the command line.'),
  userSettings: () => flag("False: the user's own settings of claude do not apply. Default: true."),
  queue: () =>
    flag(
      'Whether the agent gets the tools for queue and inbox. Absent: if its prompt has /push or /run.',
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
  args: () => texts('Arguments for this step, after those of the command line.'),
  prompt: () => text('Prompt of this step.'),
  promptFile: () => text('File with the prompt, read again in every iteration.'),
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
  description: () => text('One line that describes the chain.'),
  prompt: () => text('Prompt of every step that has none of its own.'),
  promptFile: () => text('File with the prompt, read again in every iteration.'),
}

export const makeChainSchema = (isThere: IsThere = () => true) =>
  z
    .strictObject(
      {
        ...makeShape(CHAIN_TEXTS, isThere),
        steps: z
          .array(makeStepSchema(isThere), { error: 'a list of steps' })
          .check(z.minLength(1, { error: 'at least one step' }))
          .register(...about('The steps, in order.')),
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

interface Issue {
  readonly path: (string | number)[]
  readonly message: string
}

/** Duplicate names of steps, and jumps to steps that do not exist. */
function findWrongNames({ steps, onFail }: Pick<ChainConfig, 'steps' | 'onFail'>): Issue[] {
  const wrong = (target: OnFailConfig | undefined, path: (string | number)[]): Issue[] =>
    typeof target === 'object' && 'goto' in target && findStep(target.goto, steps) === undefined
      ? [{ path: [...path, 'onFail', 'goto'], message: describeTargets(steps) }]
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

/** The longest result fits into this. */
const LEAST_MESSAGE_BYTES = 1024 * 1024
const LEAST_ERROR = `a whole number, ${LEAST_MESSAGE_BYTES} or more`

const queueLimits = () =>
  z
    .strictObject(
      {
        depth: count(LIMITLESS, 'How deep tasks may be nested. Default: 5.'),
        running: count(LIMITLESS, 'Tasks of a run that may run at the same time. Default: 16.'),
        queued: count(LIMITLESS, 'Tasks of a run that may wait. Default: 10000.'),
        messageBytes: z.optional(
          z
            .int({ error: LEAST_ERROR })
            .check(z.minimum(LEAST_MESSAGE_BYTES, { error: LEAST_ERROR }))
            .register(
              ...about('Bytes of the prompt of a task, or of a message. Default: 1048576.'),
            ),
        ),
      },
      { error: 'an object with "depth", "running", "queued" or "messageBytes"' },
    )
    .register(...about('Limits of the queues and inboxes of a run.'))

const agents = (isThere: IsThere) =>
  z
    .record(z.string(), makeAgentSchema(isThere), { error: 'an object of agents by name' })
    .register(
      ...about('Agents by name: defaults for an agent or, with a system prompt, a whole agent.'),
    )

/** The schema for a file that contains these keys, by default for all keys. */
export const makeChainsSchema = (isThere: IsThere = () => true) =>
  z
    .strictObject(
      {
        ...makeShape(
          {
            $schema: () => text('Path or URL of this schema, for editors.'),
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
