import { z } from 'zod'
import { MAX_ITERATIONS } from './dsl.ts'

// Each `error` below is what a message says behind "expected"; what was found and where is added by
// chains-file.ts. Descriptions end up in the JSON Schema that editors show.

const text = (description: string) =>
  z
    .string({ error: 'a string' })
    .refine((value) => !value.includes('\0'), { error: 'a string without NUL characters' })
    .describe(description)

const texts = (description: string) =>
  z.array(text(''), { error: 'a list of strings' }).describe(description)

const count = (limit: number, description: string) => {
  const error =
    limit === MAX_ITERATIONS ? `a whole number from 1 to ${limit}` : 'a positive integer'
  return z.int({ error }).min(1, { error }).max(limit, { error }).describe(description)
}

const modelName = z
  .string({ error: 'a model name' })
  .regex(/^(sonnet|opus|haiku)$|\d/, {
    error: '"sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5"',
  })
  .describe('sonnet, opus, haiku, or a full model id (it contains a digit). Default: sonnet.')

export const agentSchema = z
  .strictObject(
    {
      defaultPrompt: text(
        'Prompt where neither command line, step nor chain gives one.',
      ).optional(),
      defaultPromptFile: text('The same, from a file, read again at every iteration.').optional(),
      systemPrompt: text(
        'File with the system prompt; makes this a direct-spawn agent.',
      ).optional(),
      systemPromptText: text('System prompt as text; wins over systemPrompt.').optional(),
      mcpConfig: text('MCP configuration file of the agent.').optional(),
      settings: text('Settings file of the agent.').optional(),
      model: modelName.optional(),
      maxTurns: count(Number.MAX_SAFE_INTEGER, 'Turns per iteration. Default: 100.').optional(),
      allowedTools: texts('The only tools that the agent may use.').optional(),
      disallowedTools: texts('Tools that the agent may not use.').optional(),
    },
    { error: 'an object with the fields of an agent' },
  )
  .describe('Defaults of an agent, or, with a system prompt, the whole agent.')

const stepSchema = z
  .strictObject(
    {
      agent: text('Name or path of the agent.').regex(/^[^-]/, {
        error: "the name or path of an agent, not beginning with '-'",
      }),
      iterations: count(
        MAX_ITERATIONS,
        'Loop until the marker, at most this often. Absent: run once.',
      ).optional(),
      args: texts('Arguments for this step, behind those of the command line.').optional(),
      prompt: text('Prompt of this step.').optional(),
      promptFile: text('The same, from a file, read again at every iteration.').optional(),
    },
    { error: 'an object such as { "agent": "builder", "iterations": 20 }' },
  )
  .describe('One agent, once or in a loop.')

const chainSchema = z
  .strictObject(
    {
      description: text('One line for people.').optional(),
      prompt: text('Prompt of every step that has none of its own.').optional(),
      promptFile: text('The same, from a file, read again at every iteration.').optional(),
      steps: z
        .array(stepSchema, { error: 'a list of steps' })
        .min(1, { error: 'at least one step' })
        .describe('What runs, one after the other.'),
    },
    { error: 'an object with "steps"' },
  )
  .describe('A list of steps under a name.')

export const chainsSchema = z
  .strictObject(
    {
      $schema: text('Where editors find this schema.').optional(),
      agents: z
        .record(z.string(), agentSchema, { error: 'an object of agents by name' })
        .describe('Agents by name.')
        .optional(),
      chains: z
        .record(z.string(), chainSchema, { error: 'an object of chains by name' })
        .describe('Chains by name; run one with forkhestra --chain NAME.'),
    },
    { error: 'an object with "chains"' },
  )
  .describe('Configuration of forkhestra: forge/orch/chains.json')

export type AgentConfig = z.infer<typeof agentSchema>
export type StepConfig = z.infer<typeof stepSchema>
export type ChainConfig = z.infer<typeof chainSchema>
export type ChainsConfig = z.infer<typeof chainsSchema>
