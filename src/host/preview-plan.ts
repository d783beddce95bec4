import type { Phases } from '../chain/parse/prompt/phases.ts'
import { branchJson } from '../chain/plan/branch-lines.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { makeLaunch } from '../chain/plan/launch.ts'
import { findNameClashes } from '../chain/plan/name-clashes.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from '../chain/plan/plan.ts'
import { summarize } from '../chain/plan/summarize.ts'
import { makeReader, type ReadOptions } from '../chain/prompts/read-files.ts'
import { MAIN } from '../queue/task.ts'
import { phasesJson, type PromptPreview } from '../views/prompt-check.ts'
import { ownProgram } from './own-folder.ts'

/** What each step and recovery agent of a plan would start in its first iteration. */
export function previewPlan(plan: Plan, facts: Facts) {
  const summaries = summarize(plan).steps
  return previewPrompts(plan, facts).map(({ step, prompt, clashes }, index) => {
    const { within, copies } = summaries[index]!
    const isRecovery = plan.recoveries.includes(step) || undefined
    const shown = {
      ...previewStep(step, plan, facts),
      phases: phasesJson(prompt),
      isRecovery,
      within,
      copies,
      branch: branchJson(step),
    }
    return { step, prompt, clashes, shown }
  })
}

/** The prompts of all steps and recovery agents in their first iteration; `clashes` are warnings. */
export function previewPrompts(plan: Plan, facts: Facts) {
  const steps = stepsOf(plan.root)
  const launches = [...steps, ...plan.recoveries].map((step) => {
    const { where, phases } = makeLaunch(step, builtInVariables(plan, step, 1), facts.readPrompt)
    return { step, where, phases }
  })
  const named = launches.map(({ step, where, phases }) => {
    return { where: `step ${step.number}, ${where}`, phases }
  })
  const clashes = findNameClashes(named.slice(0, steps.length))
  return launches.map(({ step, where, phases }, index) => {
    const prompt = previewPrompt(phases, { cwd: step.cwd, ...step.reading })
    return { step, where, prompt, clashes: clashes[index] ?? [] }
  })
}

/** What a prompt would do. Reads its files and does nothing else. */
export function previewPrompt(phases: Phases, options: ReadOptions): PromptPreview {
  const read = makeReader(options)
  const setup = phases.setup.map((command) =>
    command.kind === 'read' ? { ...command, file: read(command.path) } : command,
  )
  return { ...phases, setup }
}

function previewStep(step: StepNode, plan: Plan, facts: Facts) {
  const agentFile = step.agent.engine !== 'binary' ? step.agent.file : undefined
  const values = builtInVariables(plan, step, 1)
  const program = ownProgram()
  const env = { FORKHESTRA_RUN_ID: plan.run, FORKHESTRA_AGENT_NAME: MAIN }
  const queue = program === undefined ? undefined : { program, env }
  const asWritten = { asWritten: true, queue }
  const { launch, args, prompt, hasQueue } = makeLaunch(step, values, facts.readPrompt, asWritten)
  return {
    step: step.number,
    agent: step.agent.name,
    name: step.name,
    kind: step.agent.engine,
    agentFile,
    maxIterations: step.loop,
    args: [...args],
    prompt,
    argv: [...launch.argv],
    queueTools: hasQueue || undefined,
    buildsFromTasks: step.agent.finishesTasks || undefined,
    policy: { ...step.policy },
  }
}
