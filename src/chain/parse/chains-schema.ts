import * as z from 'zod/mini'
import {
  ENGINES,
  MODEL,
  MODEL_HINT_BY_ENGINE,
  NATIVE_MODEL,
  PERMISSION_MODES,
} from './agent-values.ts'
import { MAX_ITERATIONS } from './dsl.ts'
import { CHAIN_POLICY_FIELDS, POLICY_FIELDS, type OnFailConfig } from './policy-schema.ts'
import {
  agentName,
  count,
  described,
  field,
  flag,
  makeShape,
  string,
  text,
  texts,
  whole,
  type IsThere,
} from './schema-fields.ts'
import { describeTargets, findStep } from './step-targets.ts'

const ADDRESS_ERROR = 'an address such as "http://127.0.0.1:11434/v1"'
const AMOUNT_ERROR = 'an amount in US dollars, 0 or more'

const amount = (description: string) =>
  described(
    description,
    z.number({ error: AMOUNT_ERROR }).check(z.minimum(0, { error: AMOUNT_ERROR })),
  )

const prices = () =>
  z.record(
    z.string(),
    z.strictObject(
      {
        input: amount('Per million input tokens.'),
        output: amount('Per million output tokens.'),
        cacheRead: z.optional(amount('Per million tokens read from the cache. Default: as input.')),
        cacheWrite: z.optional(
          amount('Per million tokens written to the cache. Default: as input.'),
        ),
      },
      { error: 'an object such as { "input": 2, "output": 10 }' },
    ),
    { error: 'an object of prices by model' },
  )

const NATIVE_ONLY = ['baseUrl', 'apiKeyEnv', 'tools', 'maxOutputTokens'] as const
const CLAUDE_ONLY = ['mcpConfig', 'settings', 'permissionMode', 'args', 'userSettings'] as const

interface Issue {
  readonly path: (string | number)[]
  readonly message: string
}

/** A check that reports what `find` finds. */
const report = <Value>(find: (value: Value) => Issue[]) =>
  z.check<Value>(({ value, issues }) => {
    issues.push(
      ...find(value).map((issue) => ({ code: 'custom' as const, input: value, ...issue })),
    )
  })

/** Fields that the agent's engine would ignore. */
function findMisplaced(agent: Readonly<Record<string, unknown>>): Issue[] {
  const isNative = agent['engine'] === 'native'
  const { model } = agent
  const others = isNative ? CLAUDE_ONLY : NATIVE_ONLY
  const message = isNative
    ? 'nothing: the engine is native'
    : 'nothing: only with "engine": "native"'
  return [
    ...others.flatMap((name) => (agent[name] === undefined ? [] : [{ path: [name], message }])),
    ...(!isNative && typeof model === 'string' && !MODEL.test(model)
      ? [{ path: ['model'], message: MODEL_HINT_BY_ENGINE }]
      : []),
  ]
}

const AGENT_FIELDS = {
  defaultPrompt: () => text('Prompt if neither command line, step nor chain has one.'),
  defaultPromptFile: () => text('File with the default prompt, read again in every iteration.'),
  engine: () =>
    field(
      'What runs the agent: claude, or native: forkhestra itself, without a coding CLI. Default: claude.',
      z.enum(ENGINES, { error: '"claude" or "native"' }),
    ),
  systemPrompt: () => text('File with the system prompt; makes this a direct-spawn agent.'),
  systemPromptText: () => text('System prompt as text; wins over systemPrompt.'),
  mcpConfig: () => text('MCP configuration file of the agent.'),
  settings: () => text('Settings file of the agent.'),
  model: () =>
    field(
      'sonnet, opus, haiku, or a full model id (it contains a digit); with the engine native also provider/id. Default: sonnet.',
      string('a model name', [NATIVE_MODEL, MODEL_HINT_BY_ENGINE]),
    ),
  baseUrl: () =>
    field(
      'Base URL of the model API for a native agent. Default: that of the provider.',
      string(ADDRESS_ERROR, [/^https?:\/\/[^\s/]/, ADDRESS_ERROR]),
    ),
  apiKeyEnv: () =>
    field(
      'Variable with the API key of a native agent. Default: the usual one of its provider.',
      string('the name of a variable', [
        /^[A-Za-z_][A-Za-z0-9_]*$/,
        'the name of a variable, never the key itself',
      ]),
    ),
  tools: () => flag('False: the model of a native agent gets no tools. Default: true.'),
  maxOutputTokens: () => count('Maximum output tokens per answer (native agents).'),
  maxTurns: () => count('Turns per iteration. Default: 100.'),
  allowedTools: () => texts('The only tools that the agent may use.'),
  disallowedTools: () => texts('Tools that the agent may not use.'),
  permissionMode: () =>
    field(
      'What claude may do without asking. Absent: everything.',
      z.enum(PERMISSION_MODES, {
        error: '"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk" or "plan"',
      }),
    ),
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
    .check(report(findMisplaced))

const STEP_FIELDS = {
  name: () =>
    field(
      'Name of the step, for messages and as a target of onFail.',
      string('a string', [
        /^(?!\d+$)(?!\s)\P{Cc}+(?<!\s)$/u,
        'a name that is not a number, without spaces around it or control characters',
      ]),
    ),
  iterations: () =>
    field(
      'Loop until the marker, at most this often. Absent: run once.',
      whole(`a whole number from 1 to ${MAX_ITERATIONS}`, 1, MAX_ITERATIONS),
    ),
  args: () => texts('Arguments for this step, after those of the command line.'),
  prompt: () => text('Prompt of this step.'),
  promptFile: () => text('File with the prompt, read again in every iteration.'),
  ...POLICY_FIELDS,
}

const makeStepSchema = (isThere: IsThere) =>
  z.strictObject(
    { agent: agentName, ...makeShape(STEP_FIELDS, isThere) },
    { error: 'an object such as { "agent": "builder", "iterations": 20 }' },
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
        steps: described(
          'The steps, in order.',
          z
            .array(makeStepSchema(isThere), { error: 'a list of steps' })
            .check(z.minLength(1, { error: 'at least one step' })),
        ),
        ...makeShape(CHAIN_POLICY_FIELDS, isThere),
      },
      { error: 'an object with "steps"' },
    )
    .check(report(findWrongNames))

interface Names {
  readonly steps: readonly Pick<StepConfig, 'name' | 'onFail'>[]
  readonly onFail?: OnFailConfig | undefined
}

/** Duplicate names of steps, and jumps to steps that do not exist. */
function findWrongNames({ steps, onFail }: Names): Issue[] {
  const wrong = (target: OnFailConfig | undefined, path: (string | number)[]): Issue[] =>
    typeof target === 'object' && 'goto' in target && findStep(target.goto, steps) === undefined
      ? [{ path: [...path, 'onFail', 'goto'], message: describeTargets(steps) }]
      : []
  return [
    ...wrong(onFail, []),
    ...steps.flatMap(({ name, onFail: own }, index) => [
      ...wrong(own, ['steps', index]),
      ...(name !== undefined && steps.findIndex((other) => other.name === name) !== index
        ? [{ path: ['steps', index, 'name'], message: 'a name that no other step has' }]
        : []),
    ]),
  ]
}

/** The longest result fits into this. */
const LEAST_MESSAGE_BYTES = 1024 * 1024

const queueLimits = () =>
  z.strictObject(
    {
      depth: count('How deep tasks may be nested. Default: 5.'),
      running: count('Tasks of a run that may run at the same time. Default: 16.'),
      queued: count('Tasks of a run that may wait. Default: 10000.'),
      messageBytes: field(
        'Bytes of the prompt of a task, or of a message. Default: 1048576.',
        whole(`a whole number, ${LEAST_MESSAGE_BYTES} or more`, LEAST_MESSAGE_BYTES),
      ),
    },
    { error: 'an object with "depth", "running", "queued" or "messageBytes"' },
  )

/** The schema for a file that contains these keys, by default for all keys. */
export const makeChainsSchema = (isThere: IsThere = () => true) =>
  described(
    'Configuration of forkhestra: forge/orch/chains.json',
    z.strictObject(
      {
        ...makeShape(
          {
            $schema: () => text('Path or URL of this schema, for editors.'),
            agents: () =>
              field(
                'Agents by name: defaults for an agent or, with a system prompt, a whole agent.',
                z.record(z.string(), makeAgentSchema(isThere), {
                  error: 'an object of agents by name',
                }),
              ),
            queueLimits: () => field('Limits of the queues and inboxes of a run.', queueLimits()),
            prices: () =>
              field(
                'Prices of the models of native agents, in US dollars per million tokens.',
                prices(),
              ),
          },
          isThere,
        ),
        chains: described(
          'Chains by name; run one with forkhestra --chain NAME.',
          z.record(z.string(), makeChainSchema(isThere), {
            error: 'an object of chains by name, {} if there are none',
          }),
        ),
      },
      { error: 'an object with "chains"' },
    ),
  )

type Made<Make extends (isThere: IsThere) => z.ZodMiniType> = z.infer<ReturnType<Make>>

export type QueueLimits = Made<typeof queueLimits>
export type AgentConfig = Made<typeof makeAgentSchema>
export type StepConfig = Made<typeof makeStepSchema>
export type ChainConfig = Made<typeof makeChainSchema>
export type ChainsConfig = Made<typeof makeChainsSchema>
