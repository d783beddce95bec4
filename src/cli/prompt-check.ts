import { UserError } from '../base/errors.ts'
import { formatBytes } from '../base/files.ts'
import { Mask } from '../base/secrets/mask.ts'
import { describeNearMiss, findNearMisses } from '../chain/parse/prompt/near-misses.ts'
import { findTaskProblems } from '../chain/plan/checks.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { findNameClashes } from '../chain/plan/name-clashes.ts'
import { makePlan } from '../chain/plan/make-plan.ts'
import { PlanError } from '../chain/plan/problems.ts'
import { resolveAgent } from '../chain/plan/resolve-agent.ts'
import { decodePrompt, PROMPT_LIMIT_BYTES, readPromptText } from '../chain/prompts/prompt-file.ts'
import { contentOnly, readPhases } from '../chain/prompts/read-phases.ts'
import type { Configuration } from '../host/configuration.ts'
import { pathFromProject, type Project } from '../host/project.ts'
import { readFacts } from '../host/facts.ts'
import { agentEnvironment } from '../host/own-folder.ts'
import { printResult } from './print.ts'
import { readStdin } from './read-stdin.ts'
import { promptCheckJson, renderPromptCheck, type PromptPreview } from '../views/prompt-check.ts'
import { UsageError, type Input } from './command.ts'
import { makeIdentity } from '../host/identity.ts'
import { previewPrompt, previewPrompts } from '../host/preview-plan.ts'
import { configurationFor, projectOf } from './front-end.ts'
import { makeRequest } from './request.ts'
import { secretsOf } from '../host/secrets.ts'

/** The command `prompt`: what a prompt would do, and everything that is wrong with it. */
export async function checkPrompt(input: Input): Promise<number> {
  const [word, file, ...more] = input.positionals
  if (word !== 'check') {
    throw new UsageError(
      word === undefined ? 'A subcommand is missing.' : `Unknown subcommand '${word}'.`,
      'Use: forkhestra prompt check FILE',
    )
  }
  const project = projectOf(input)
  const env = agentEnvironment(process.env)
  const facts = readFacts(env)
  const configuration = await configurationFor(input, project)
  if (input.text('chain') !== undefined)
    return checkChain(input, project, configuration, facts, env)
  if (file === undefined || file === '') {
    throw new UsageError('No prompt given.', 'Name a file, - for standard input, or --chain NAME.')
  }
  const surplus = [...more, ...input.rest][0]
  if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'.`)
  return checkFile(file, input, project, configuration, facts)
}

async function checkFile(
  file: string,
  input: Input,
  project: Project,
  { content, base }: Configuration,
  facts: Facts,
): Promise<number> {
  const { folder: cwd } = project
  const isRaw = input.flag('raw-prompt')
  const where = file === '-' ? 'standard input' : file
  const text =
    file === '-' ? await readStandardInput() : readPromptText(pathFromProject(file, project), cwd)
  const phases = isRaw ? contentOnly(text) : readPhases([text], where)
  const known = { agents: content.agents ?? {}, cwd, base, agentBase: base }
  const problems = findTaskProblems(phases, where, (name) => void resolveAgent(name, known, facts))
  if (problems.length > 0) throw new PlanError(problems)
  const clashes = findNameClashes([{ where, phases }]).flat()
  const preview = withWarnings(previewPrompt(phases, { cwd }), isRaw, clashes)
  const json = { ok: true, ...promptCheckJson(where, preview) }
  return printResult(input, json, renderPromptCheck(where, preview).join('\n'))
}

function withWarnings(
  preview: PromptPreview,
  isRaw: boolean,
  clashes: readonly string[],
): PromptPreview {
  if (isRaw) return preview
  const misses = findNearMisses(preview.content).map(describeNearMiss)
  // An earlier step may create the file.
  const unread = preview.setup.flatMap((command) =>
    command.kind === 'read' && 'ok' in command.file && !command.file.ok
      ? [`'${command.path}' cannot be read; the agent would get the error instead.`]
      : [],
  )
  return { ...preview, warnings: [...unread, ...misses, ...clashes] }
}

/** The prompts of all steps, as the first iteration would get them. */
function checkChain(
  input: Input,
  project: Project,
  configuration: Configuration,
  facts: Facts,
  env: Readonly<Record<string, string>>,
): number {
  const { run } = makeIdentity()
  const typed = { ...input, positionals: input.positionals.slice(1) }
  const { plan } = makePlan(makeRequest(typed, run, project, configuration, facts), facts)
  const mask = new Mask(secretsOf(plan, env))
  const prompts = previewPrompts(plan, facts).map(({ step, where, prompt, clashes }) => {
    const preview = withWarnings(prompt, step.rawPrompt === true, clashes)
    return { step: step.number, agent: step.agent.name, where, preview: mask.data(preview) }
  })
  const steps = prompts.map(({ step, agent, where, preview }) => {
    return { step, agent, ...promptCheckJson(where, preview) }
  })
  const lines = prompts.map(({ step, agent, where, preview }) =>
    renderPromptCheck(`${step}. ${agent}, ${where}`, preview).join('\n'),
  )
  return printResult(input, { ok: true, steps }, lines.join('\n\n'))
}

async function readStandardInput(): Promise<string> {
  const limit = formatBytes(PROMPT_LIMIT_BYTES)
  const tooLong = () =>
    new UserError(`The prompt on standard input is too long; the limit is ${limit}.`)
  const bytes = await readStdin(PROMPT_LIMIT_BYTES, tooLong)
  return decodePrompt(bytes, 'The prompt on standard input')
}
