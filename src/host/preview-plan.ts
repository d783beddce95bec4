import type { Phases } from '../chain/parse/prompt/phases.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { makeLaunch } from '../chain/plan/launch.ts'
import { findNameClashes } from '../chain/plan/name-clashes.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from '../chain/plan/plan.ts'
import { makeReader, type ReadOptions } from '../chain/prompts/read-files.ts'
import { MAIN } from '../queue/task.ts'
import { phasesJson, type PromptPreview } from '../views/prompt-check.ts'
import { ownProgram } from './own-folder.ts'

/** What each step and recovery agent of a plan would start in its first iteration, and warnings. */
export function previewPlan(plan: Plan, facts: Facts) {
  const steps = stepsOf(plan.root)
  const all = [...steps, ...plan.recoveries]
  const launches = all.map((step) => launchOf(step, plan, facts))
  const previews = all.map((step, index) => {
    const { cwd, reading } = step
    const prompt = previewPrompt(launches[index]!.phases, { cwd, ...reading })
    const isRecovery = index < steps.length ? undefined : true
    const shown = { ...previewStep(step, plan, facts), phases: phasesJson(prompt), isRecovery }
    return { step, prompt, shown }
  })
  return { previews, clashes: findNameClashes(launches.slice(0, steps.length).map(asStep)).flat() }
}

/** What a prompt would do; its files are read, nothing else is done. */
export function previewPrompt(phases: Phases, options: ReadOptions): PromptPreview {
  const read = makeReader(options)
  const setup = phases.setup.map((command) =>
    command.kind === 'read' ? { ...command, file: read(command.path) } : command,
  )
  return { ...phases, setup }
}

function launchOf(step: StepNode, plan: Plan, facts: Facts) {
  return makeLaunch(step, builtInVariables(plan.run, step, 1), facts.readPrompt)
}

function asStep({ where, phases }: ReturnType<typeof launchOf>, index: number) {
  return { where: `step ${index + 1}, ${where}`, phases }
}

function previewStep(step: StepNode, plan: Plan, facts: Facts) {
  const agentFile = step.agent.engine !== 'binary' ? step.agent.file : undefined
  const values = builtInVariables(plan.run, step, 1)
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
