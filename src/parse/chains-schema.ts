// The small variant of the library: it loads in a third of the time, and the words are ours anyway.
import * as z from 'zod/mini'
import { MAX_ITERATIONS } from './dsl.ts'

// Each `error` below is what a message says behind "expected"; what was found and where is added by
// base/jsonc.ts. Descriptions end up in the JSON Schema that editors show.

const isText = z.refine<string>((value) => !value.includes('\0'), {
  error: 'a string without NUL characters',
})

const text = (description: string) =>
  z.optional(z.string({ error: 'a string' }).check(isText, z.describe(description)))

const texts = (description: string) => {
  const item = z.string({ error: 'a string' }).check(isText)
  return z.optional(z.array(item, { error: 'a list of strings' }).check(z.describe(description)))
}

const count = (limit: number, description: string) => {
  const error =
    limit === MAX_ITERATIONS ? `a whole number from 1 to ${limit}` : 'a positive integer'
  const number = z.int({ error })
  return z.optional(
    number.check(z.minimum(1, { error }), z.maximum(limit, { error }), z.describe(description)),
  )
}

const model = z.string({ error: 'a model name' }).check(
  z.regex(/^(sonnet|opus|haiku)$|\d/, {
    error: '"sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5"',
  }),
  z.describe('sonnet, opus, haiku, or a full model id (it contains a digit). Default: sonnet.'),
)

const permissionMode = z
  .enum(['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'plan'], {
    error: '"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk" or "plan"',
  })
  .check(z.describe('What claude may do without asking. Absent: everything.'))

const agentName = z
  .string({ error: 'a string' })
  .check(
    isText,
    z.regex(/^[^-]/, { error: "the name or path of an agent, not beginning with '-'" }),
    z.describe('Name or path of the agent.'),
  )

const agentSchema = z.strictObject(
  {
    defaultPrompt: text('Prompt where neither command line, step nor chain gives one.'),
    defaultPromptFile: text('The same, from a file, read again at every iteration.'),
    systemPrompt: text('File with the system prompt; makes this a direct-spawn agent.'),
    systemPromptText: text('System prompt as text; wins over systemPrompt.'),
    mcpConfig: text('MCP configuration file of the agent.'),
    settings: text('Settings file of the agent.'),
    model: z.optional(model),
    maxTurns: count(Number.MAX_SAFE_INTEGER, 'Turns per iteration. Default: 100.'),
    allowedTools: texts('The only tools that the agent may use.'),
    disallowedTools: texts('Tools that the agent may not use.'),
    permissionMode: z.optional(permissionMode),
    args: texts('Further arguments for claude, before those of the command line.'),
  },
  { error: 'an object with the fields of an agent' },
)

const stepSchema = z.strictObject(
  {
    agent: agentName,
    iterations: count(
      MAX_ITERATIONS,
      'Loop until the marker, at most this often. Absent: run once.',
    ),
    args: texts('Arguments for this step, behind those of the command line.'),
    prompt: text('Prompt of this step.'),
    promptFile: text('The same, from a file, read again at every iteration.'),
  },
  { error: 'an object such as { "agent": "builder", "iterations": 20 }' },
)

const chainSchema = z.strictObject(
  {
    description: text('One line for people.'),
    prompt: text('Prompt of every step that has none of its own.'),
    promptFile: text('The same, from a file, read again at every iteration.'),
    steps: z
      .array(stepSchema, { error: 'a list of steps' })
      .check(z.minLength(1, { error: 'at least one step' }), z.describe('What runs, in order.')),
  },
  { error: 'an object with "steps"' },
)

export const chainsSchema = z
  .strictObject(
    {
      $schema: text('Where editors find this schema.'),
      agents: z.optional(
        z
          .record(z.string(), agentSchema, { error: 'an object of agents by name' })
          .check(
            z.describe('Agents by name: their defaults, or, with a system prompt, all of them.'),
          ),
      ),
      chains: z
        .record(z.string(), chainSchema, { error: 'an object of chains by name' })
        .check(z.describe('Chains by name; run one with forkhestra --chain NAME.')),
    },
    { error: 'an object with "chains"' },
  )
  .check(z.describe('Configuration of forkhestra: forge/orch/chains.json'))

export type AgentConfig = z.infer<typeof agentSchema>
export type StepConfig = z.infer<typeof stepSchema>
export type ChainConfig = z.infer<typeof chainSchema>
export type ChainsConfig = z.infer<typeof chainsSchema>
