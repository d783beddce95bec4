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
import { agentName, described, field, flag, string, text, texts, whole } from './schema-fields.ts'
import { describeTargets, findStep } from './step-targets.ts'

const ADDRESS_ERROR = 'an address such as "http://127.0.0.1:11434/v1"'
const AMOUNT_ERROR = 'an amount in US dollars, 0 or more'

const amount = (description: string) =>
  described(
    description,
    z.number({ error: AMOUNT_ERROR }).check(z.minimum(0, { error: AMOUNT_ERROR })),
  )

const prices = z.record(
  z.string(),
  z.strictObject(
    {
      input: amount('Per million input tokens.'),
      output: amount('Per million output tokens.'),
      cacheRead: z.optional(amount('Per million tokens read from the cache. Default: as input.')),
      cacheWrite: z.optional(amount('Per million tokens written to the cache. Default: as input.')),
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

const agent = z
  .strictObject(
    {
      defaultPrompt: text('Prompt if neither command line, step nor chain has one.'),
      defaultPromptFile: text('File with the default prompt, read again in every iteration.'),
      engine: field(
        'What runs the agent: claude, or native: forkhestra itself, without a coding CLI. Default: claude.',
        z.enum(ENGINES, { error: '"claude" or "native"' }),
      ),
      systemPrompt: text('File with the system prompt; makes this a direct-spawn agent.'),
      systemPromptText: text('System prompt as text; wins over systemPrompt.'),
      mcpConfig: text('MCP configuration file of the agent.'),
      settings: text('Settings file of the agent.'),
      model: field(
        'sonnet, opus, haiku, or a full model id (it contains a digit); with the engine native also provider/id. Default: sonnet.',
        string('a model name', [NATIVE_MODEL, MODEL_HINT_BY_ENGINE]),
      ),
      baseUrl: field(
        'Base URL of the model API for a native agent. Default: that of the provider.',
        string(ADDRESS_ERROR, [/^https?:\/\/[^\s/]/, ADDRESS_ERROR]),
      ),
      apiKeyEnv: field(
        'Variable with the API key of a native agent. Default: the usual one of its provider.',
        string('the name of a variable', [
          /^[A-Za-z_][A-Za-z0-9_]*$/,
          'the name of a variable, never the key itself',
        ]),
      ),
      tools: flag('False: the model of a native agent gets no tools. Default: true.'),
      maxOutputTokens: whole('Most tokens of one answer of a native agent.'),
      maxTurns: whole('Turns per iteration. Default: 100.'),
      allowedTools: texts('The only tools that the agent may use.'),
      disallowedTools: texts('Tools that the agent may not use.'),
      permissionMode: field(
        'What claude may do without asking. Absent: everything.',
        z.enum(PERMISSION_MODES, {
          error: '"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk" or "plan"',
        }),
      ),
      args: texts('Further arguments for claude, before those of the command line.'),
      userSettings: flag("False: the user's own settings of claude do not apply. Default: true."),
      queue: flag(
        'Whether the agent gets the tools for queue and inbox. Absent: if its prompt has /push or /run.',
      ),
      tasks: flag(
        'Whether the agent builds from forge-tasks, so that its marker counts only once no task is ready. Absent: by its name and its system prompt.',
      ),
      ...POLICY_FIELDS,
    },
    { error: 'an object with the fields of an agent' },
  )
  .check(report(findMisplaced))

const step = z.strictObject(
  {
    agent: agentName,
    name: field(
      'Name of the step, for messages and as a target of onFail.',
      string('a string', [
        /^(?!\d+$)(?!\s)\P{Cc}+(?<!\s)$/u,
        'a name that is not a number, without spaces around it or control characters',
      ]),
    ),
    iterations: whole(
      'Loop until the marker, at most this often. Absent: run once.',
      `a whole number from 1 to ${MAX_ITERATIONS}`,
      1,
      MAX_ITERATIONS,
    ),
    args: texts('Arguments for this step, after those of the command line.'),
    prompt: text('Prompt of this step.'),
    promptFile: text('File with the prompt, read again in every iteration.'),
    ...POLICY_FIELDS,
  },
  { error: 'an object such as { "agent": "builder", "iterations": 20 }' },
)

export const chainSchema = z
  .strictObject(
    {
      description: text('One line that describes the chain.'),
      prompt: text('Prompt of every step that has none of its own.'),
      promptFile: text('File with the prompt, read again in every iteration.'),
      steps: described(
        'The steps, in order.',
        z
          .array(step, { error: 'a list of steps' })
          .check(z.minLength(1, { error: 'at least one step' })),
      ),
      ...CHAIN_POLICY_FIELDS,
    },
    { error: 'an object with "steps"' },
  )
  .check(report(findWrongNames))

/** Duplicate names of steps, and jumps to steps that do not exist. */
function findWrongNames({ steps, onFail }: Pick<ChainConfig, 'steps' | 'onFail'>): Issue[] {
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

const queueLimits = z.strictObject(
  {
    depth: whole('How deep tasks may be nested. Default: 5.'),
    running: whole('Tasks of a run that may run at the same time. Default: 16.'),
    queued: whole('Tasks of a run that may wait. Default: 10000.'),
    messageBytes: whole(
      'Bytes of the prompt of a task, or of a message. Default: 1048576.',
      `a whole number, ${LEAST_MESSAGE_BYTES} or more`,
      LEAST_MESSAGE_BYTES,
    ),
  },
  { error: 'an object with "depth", "running", "queued" or "messageBytes"' },
)

export const chainsSchema = described(
  'Configuration of forkhestra: forge/orch/chains.json',
  z.strictObject(
    {
      $schema: text('Path or URL of this schema, for editors.'),
      agents: field(
        'Agents by name: defaults for an agent or, with a system prompt, a whole agent.',
        z.record(z.string(), agent, { error: 'an object of agents by name' }),
      ),
      queueLimits: field('Limits of the queues and inboxes of a run.', queueLimits),
      prices: field(
        'Prices of the models of native agents, in US dollars per million tokens.',
        prices,
      ),
      chains: described(
        'Chains by name; run one with forkhestra --chain NAME.',
        z.record(z.string(), chainSchema, {
          error: 'an object of chains by name, {} if there are none',
        }),
      ),
    },
    { error: 'an object with "chains"' },
  ),
)

export type QueueLimits = z.infer<typeof queueLimits>
export type AgentConfig = z.infer<typeof agent>
export type StepConfig = z.infer<typeof step>
export type ChainConfig = z.infer<typeof chainSchema>
export type ChainsConfig = z.infer<typeof chainsSchema>
