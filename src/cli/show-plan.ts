import { Mask } from '../base/secrets/mask.ts'
import type { Stamp } from '../records/events/event.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { toolNames } from '../engines/native/tool-sets.ts'
import { makeLaunch } from '../chain/plan/launch.ts'
import { findNameClashes } from '../chain/plan/name-clashes.ts'
import { builtInVariables, stepsOf, type Plan, type StepNode } from '../chain/plan/plan.ts'
import { chainLines, exemptLines, stepLines } from '../chain/plan/policy-lines.ts'
import { taskLines } from '../chain/plan/task-verdict.ts'
import type { Tasks } from '../chain/plan/tasks.ts'
import { MAIN } from '../queue/task.ts'
import { ownProgram } from '../host/own-folder.ts'
import { renderDryRun } from '../views/dry-run.ts'
import { phaseLines, phasesJson } from '../views/prompt-check.ts'
import type { Input } from './command.ts'
import { readOverrides } from './overrides.ts'
import { previewPrompt } from './prompt-check.ts'
import { secretsOf } from '../host/secrets.ts'

/** The option `--dry-run`: what would run, for people or for a script. */
export async function showPlan(
  plan: Plan,
  warnings: readonly string[],
  facts: Facts,
  tasks: Tasks,
  input: Input,
  stamp: Stamp,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const mask = new Mask(secretsOf(plan, env))
  const steps = stepsOf(plan.root)
  const all = [...steps, ...plan.recoveries]
  const launches = all.map((step) => launchOf(step, plan, facts))
  const prompts = all.map(({ cwd, reading }, index) =>
    previewPrompt(launches[index]!.phases, { cwd, ...reading }),
  )
  const clashes = findNameClashes(launches.slice(0, steps.length).map(asStep)).flat()
  const previews = all.map((step, index) => {
    const isRecovery = index < steps.length ? undefined : true
    return { ...preview(step, plan, facts), phases: phasesJson(prompts[index]!), isRecovery }
  })
  for (const warning of [...warnings, ...clashes.map((text) => mask.data(text))])
    console.error(`[forkhestra] Warning: ${warning}`)
  if (input.flag('json')) {
    const { budget, when, hooks } = plan
    const chain = { budget, when, hooks }
    console.log(JSON.stringify(mask.data(stamp({ type: 'dry_run', steps: previews, chain }))))
    return 0
  }
  const isComplete = input.flag('verbose')
  const overrides = readOverrides(input)
  const isInRepository = facts.isInRepository(plan.cwd)
  const ofTasks = await Promise.all(all.map((step) => taskLines(step, plan, tasks)))
  const shown = all.map((step, index) => ({
    ...previews[index]!,
    lines: [
      ...fileLines(previews[index]!.agentFile),
      ...toolLines(step, previews[index]!.queueTools === true),
      ...phaseLines(prompts[index]!, isComplete),
      ...ofTasks[index]!,
      ...(index < steps.length ? exemptLines(step, overrides) : []),
      ...stepLines(step, plan, { isInRepository, isComplete }),
    ],
  }))
  console.log(renderDryRun(mask.data(shown), mask.data(chainLines(plan)), isComplete))
  return 0
}

function fileLines(words: string | undefined) {
  return words === undefined ? [] : [{ label: 'agent', words }]
}

function toolLines({ agent }: StepNode, hasQueue: boolean) {
  if (agent.engine === 'native') {
    return [{ label: 'tools', words: toolNames(agent, hasQueue).join(', ') || 'none' }]
  }
  return hasQueue ? [{ label: 'tools', words: 'queue and inbox, mcp__forkhestra__*' }] : []
}

function launchOf(step: StepNode, plan: Plan, facts: Facts) {
  return makeLaunch(step, builtInVariables(plan.run, step, 1), facts.readPrompt)
}

function asStep({ where, phases }: ReturnType<typeof launchOf>, index: number) {
  return { where: `step ${index + 1}, ${where}`, phases }
}

function preview(step: StepNode, plan: Plan, facts: Facts) {
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
