import * as z from 'zod/mini'
import {
  ENGINES,
  MODEL,
  MODEL_HINT_BY_ENGINE,
  NATIVE_MODEL,
  PERMISSION_MODES,
} from './agent-values.ts'
import { MAX_COPIES, MAX_ITERATIONS, MIN_COPIES } from './chain-text.ts'
import { notify } from './notify-schema.ts'
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
  type Shape,
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
        cacheRead: z.optional(
          amount('Per million tokens read from the cache. Default: the input price.'),
        ),
        cacheWrite: z.optional(
          amount('Per million tokens written to the cache. Default: the input price.'),
        ),
      },
      { error: 'an object such as { "input": 2, "output": 10 }' },
    ),
    { error: 'an object that maps models to prices' },
  )

const NATIVE_ONLY = ['baseUrl', 'apiKeyEnv', 'tools', 'maxOutputTokens'] as const
const CLAUDE_ONLY = ['mcpConfig', 'settings', 'permissionMode', 'args', 'userSettings'] as const

interface Issue {
  readonly path: (string | number)[]
  readonly message: string
}

/** A check that reports the problems that `find` returns. */
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
    ? 'no value: not supported with "engine": "native"'
    : 'no value: only supported with "engine": "native"'
  return [
    ...others.flatMap((name) => (agent[name] === undefined ? [] : [{ path: [name], message }])),
    ...(!isNative && typeof model === 'string' && !MODEL.test(model)
      ? [{ path: ['model'], message: MODEL_HINT_BY_ENGINE }]
      : []),
  ]
}

const AGENT_FIELDS = {
  defaultPrompt: () => text('Prompt to use if the command line, the step and the chain have none.'),
  defaultPromptFile: () => text('File with the default prompt, read again in every iteration.'),
  engine: () =>
    field(
      'What runs the agent: claude, or native (forkhestra itself, without a coding CLI). Default: claude.',
      z.enum(ENGINES, { error: '"claude" or "native"' }),
    ),
  systemPrompt: () => text('File with the system prompt; makes this a direct-spawn agent.'),
  systemPromptText: () => text('System prompt as text; takes precedence over systemPrompt.'),
  mcpConfig: () => text('MCP configuration file for the agent.'),
  settings: () => text('Settings file for the agent.'),
  model: () =>
    field(
      'sonnet, opus, haiku, or a full model id (it contains a digit); with the engine native also provider/id. Default: sonnet.',
      string('a model name', [NATIVE_MODEL, MODEL_HINT_BY_ENGINE]),
    ),
  baseUrl: () =>
    field(
      'Base URL of the model API for a native agent. Default: that of its provider.',
      string(ADDRESS_ERROR, [/^https?:\/\/[^\s/]/, ADDRESS_ERROR]),
    ),
  apiKeyEnv: () =>
    field(
      'Environment variable with the API key of a native agent. Default: the usual one for its provider.',
      string('the name of an environment variable', [
        /^[A-Za-z_][A-Za-z0-9_]*$/,
        'the name of an environment variable, not the key itself',
      ]),
    ),
  tools: () => flag('False: the model of a native agent gets no tools. Default: true.'),
  maxOutputTokens: () => count('Maximum output tokens per answer (native agents).'),
  maxTurns: () => count('Maximum number of turns per iteration. Default: 100.'),
  allowedTools: () => texts('The only tools that the agent may use.'),
  disallowedTools: () => texts('Tools that the agent may not use.'),
  permissionMode: () =>
    field(
      'What claude may do without asking. Default: everything.',
      z.enum(PERMISSION_MODES, {
        error: '"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk" or "plan"',
      }),
    ),
  args: () => texts('Extra arguments for claude, placed before those from the command line.'),
  userSettings: () => flag("False: ignore the user's own claude settings. Default: true."),
  queue: () =>
    flag(
      'Whether the agent gets the queue and inbox tools. Default: only if its prompt uses /push or /run.',
    ),
  tasks: () =>
    flag(
      'Whether the agent builds from forge-tasks, so that its marker counts only once no task is ready. Default: depends on its name and system prompt.',
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
      'Maximum number of iterations, in a loop that ends at the marker. Absent: run once.',
      whole(`a whole number from 1 to ${MAX_ITERATIONS}`, 1, MAX_ITERATIONS),
    ),
  args: () => texts('Arguments for this step, after those from the command line.'),
  prompt: () => text('Prompt of this step.'),
  promptFile: () => text('File with the prompt, read again in every iteration.'),
  ...POLICY_FIELDS,
}

/** Fields that only an agent has, not a group. */
const AGENT_ONLY = ['args', 'prompt', 'promptFile'] as const

const ITEM_FIELDS = {
  agent: () => z.optional(agentName),
  chain: () => text('Name of another chain, which runs here.'),
  copies: () =>
    field(
      `How many copies run in parallel, from ${MIN_COPIES} to ${MAX_COPIES}.`,
      whole(`a whole number from ${MIN_COPIES} to ${MAX_COPIES}`, MIN_COPIES, MAX_COPIES),
    ),
  failFast: () =>
    flag('True: if one of the parallel items does not complete, the others are cancelled.'),
  ...STEP_FIELDS,
}

export const AGENT_KEYS: readonly string[] = Object.keys(AGENT_FIELDS).filter(
  (key) => !Object.hasOwn({ ...POLICY_FIELDS, ...STEP_FIELDS }, key),
)

type StepFields = z.infer<z.ZodMiniObject<Shape<typeof STEP_FIELDS>>>

interface Copies {
  readonly copies?: number | undefined
  readonly failFast?: boolean | undefined
}

/** A step that runs an agent. */
export interface StepConfig extends StepFields, Copies {
  readonly agent: string
}

type GroupFields = Omit<StepFields, (typeof AGENT_ONLY)[number]> & Copies

/** A group: exactly one of the lists is present. */
export interface GroupConfig extends GroupFields {
  readonly sequence?: readonly ItemConfig[]
  readonly parallel?: readonly ItemConfig[]
  readonly fallback?: readonly ItemConfig[]
}

/** Another chain in place of a step. */
interface ChainReference extends GroupFields {
  readonly chain: string
}

export type ItemConfig = StepConfig | GroupConfig | ChainReference

const LISTS = {
  sequence: 'Items that run one after another; with "iterations", in at most that many rounds.',
  parallel: 'Items that run in parallel.',
  fallback: 'Items that run one after another until one completes.',
}

const KINDS = ['agent', 'chain', ...Object.keys(LISTS)]

const makeItemSchema = (isThere: IsThere): z.ZodMiniType<ItemConfig> => {
  const list = (description: string) =>
    field(
      description,
      z
        .array(
          z.lazy(() => item),
          { error: 'a list of steps' },
        )
        .check(z.minLength(1, { error: 'at least one step' })),
    )
  const lists = Object.entries(LISTS).map(([key, text_]) => [key, () => list(text_)] as const)
  const item = z
    .strictObject(makeShape({ ...ITEM_FIELDS, ...Object.fromEntries(lists) }, isThere), {
      error: 'an object such as { "agent": "builder", "iterations": 20 }',
    })
    .check(report(findMisplacedInItem))
  // The check leaves exactly one kind.
  return item
}

/** An item has one kind, and only the fields of that kind. */
function findMisplacedInItem(item: Readonly<Record<string, unknown>>): Issue[] {
  const [kind, other] = KINDS.filter((key) => item[key] !== undefined)
  const kinds = 'one of "agent", "chain", "sequence", "parallel" and "fallback"'
  if (kind === undefined) return [{ path: ['agent'], message: `a string, or ${kinds}` }]
  if (other !== undefined) return [{ path: [other], message: `no value: ${kinds} is enough` }]
  const misplaced = (key: string, where: string): Issue[] =>
    item[key] === undefined ? [] : [{ path: [key], message: `no value: only supported ${where}` }]
  return [
    ...(kind === 'agent' ? [] : AGENT_ONLY.flatMap((key) => misplaced(key, 'with "agent"'))),
    ...(kind === 'parallel' || kind === 'fallback'
      ? misplaced('iterations', 'with "agent", "chain" or "sequence"')
      : []),
    ...(kind === 'parallel' || item['copies'] !== undefined
      ? []
      : misplaced('failFast', 'with "parallel" or "copies"')),
  ]
}

const CHAIN_TEXTS = {
  description: () => text('One-line description of the chain.'),
  prompt: () => text('Prompt of every step without its own.'),
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
            .array(makeItemSchema(isThere), { error: 'a list of steps' })
            .check(z.minLength(1, { error: 'at least one step' })),
        ),
        ...makeShape(CHAIN_POLICY_FIELDS, isThere),
      },
      { error: 'an object with "steps"' },
    )
    .check(report(findWrongNames))

interface Names {
  readonly steps: readonly ItemConfig[]
  readonly onFail?: OnFailConfig | undefined
}

/** Duplicate names in a list, and jumps to items that do not exist in it. */
function findWrongNames({ steps, onFail }: Names): Issue[] {
  return [...findWrongTarget(onFail, steps, []), ...findWrongInList(steps, ['steps'])]
}

function findWrongInList(items: readonly ItemConfig[], path: (string | number)[]): Issue[] {
  return items.flatMap((item, index) => {
    const place = [...path, index]
    const { name, onFail } = item
    const isTwice = name !== undefined && items.findIndex((other) => other.name === name) !== index
    const lists = Object.keys(LISTS).map((key) => [key, listsOf(item)[key]] as const)
    const refused = onFail === undefined ? undefined : NO_ON_FAIL[String(path.at(-1))]
    return [
      ...findWrongTarget(onFail, items, place),
      ...(refused === undefined ? [] : [{ path: [...place, 'onFail'], message: refused }]),
      ...(isTwice ? [{ path: [...place, 'name'], message: 'a unique step name' }] : []),
      ...lists.flatMap(([key, list]) => (list ? findWrongInList(list, [...place, key]) : [])),
    ]
  })
}

/** Why items of a list cannot have `onFail`. */
const NO_ON_FAIL: Readonly<Record<string, string>> = {
  fallback: 'no value: in a fallback, the next item runs on failure',
  parallel: 'no value: set it for the parallel group, or put the item into a "sequence"',
}

function listsOf(item: ItemConfig): Readonly<Record<string, readonly ItemConfig[] | undefined>> {
  const { sequence, parallel, fallback }: GroupConfig = 'agent' in item ? {} : item
  return { sequence, parallel, fallback }
}

function findWrongTarget(
  onFail: OnFailConfig | undefined,
  items: readonly ItemConfig[],
  path: (string | number)[],
): Issue[] {
  const isWrong =
    typeof onFail === 'object' && 'goto' in onFail && findStep(onFail.goto, items) === undefined
  return isWrong ? [{ path: [...path, 'onFail', 'goto'], message: describeTargets(items) }] : []
}

/** The longest result of a task fits into this. */
const LEAST_MESSAGE_BYTES = 1024 * 1024

const queueLimits = () =>
  z.strictObject(
    {
      depth: count('Maximum nesting depth of tasks. Default: 5.'),
      running: count('Maximum number of tasks that run at the same time. Default: 16.'),
      queued: count('Maximum number of waiting tasks. Default: 10000.'),
      messageBytes: field(
        'Maximum size of a task prompt or a message, in bytes. Default: 1048576.',
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
                'Agents by name: defaults for an existing agent or, with a system prompt, a complete one.',
                z.record(z.string(), makeAgentSchema(isThere), {
                  error: 'an object that maps names to agents',
                }),
              ),
            queueLimits: () => field('Limits of the queues and inboxes of a run.', queueLimits()),
            prices: () =>
              field('Model prices for native agents, in US dollars per million tokens.', prices()),
            notify,
          },
          isThere,
        ),
        chains: described(
          'Chains by name; run one with forkhestra --chain NAME.',
          z.record(z.string(), makeChainSchema(isThere), {
            error: 'an object that maps names to chains, {} if there are none',
          }),
        ),
      },
      { error: 'an object with "chains"' },
    ),
  )

type Made<Make extends (isThere: IsThere) => z.ZodMiniType> = z.infer<ReturnType<Make>>

export type QueueLimitsConfig = Made<typeof queueLimits>
export type AgentConfig = Made<typeof makeAgentSchema>
export type ChainConfig = Made<typeof makeChainSchema>
export type ChainsConfig = Made<typeof makeChainsSchema>
