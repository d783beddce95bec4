import { UserError } from '../../base/errors.ts'
import agentsTemplate from './templates/AGENTS.md' with { type: 'text' }
import planTemplate from './templates/PLAN.md' with { type: 'text' }
import specsTemplate from './templates/SPECS.md' with { type: 'text' }

export type SpecsFolder = 'forge/orch/specs' | 'ralph'

/** The files that contain requirements; AGENTS.md alone is not enough to plan from. */
export const REQUIREMENTS = ['PLAN.md', 'SPECS.md'] as const

/** How prompts describe the folder. They are the same in every project, so they name all candidates. */
export const SPECS_DESCRIPTIONS: Readonly<Record<SpecsFolder, string>> = {
  'forge/orch/specs': '`forge/orch/specs/` or, if only that exists, `ralph/`',
  ralph: '`ralph/`',
}

/** The specs folder of a project for agents that prefer `wanted`; paths are relative to the project. */
export function findSpecs(
  wanted: SpecsFolder,
  fileExists: (path: string) => boolean,
): SpecsFolder | undefined {
  const folders: readonly SpecsFolder[] = wanted === 'ralph' ? ['ralph'] : [wanted, 'ralph']
  return folders.find((folder) => REQUIREMENTS.some((name) => fileExists(`${folder}/${name}`)))
}

export function specsMissing(agent: string, wanted: SpecsFolder): UserError {
  const [plan, specs] = REQUIREMENTS.map((name) => `${wanted}/${name}`)
  const start =
    wanted === 'ralph'
      ? `Create them, or run forkhestra init, fill in forge/orch/specs, and use planner and builder instead.`
      : `Run forkhestra init to create both as templates, then fill them in.`
  return new UserError(
    `Agent '${agent}' needs specs: neither ${plan} nor ${specs} exists.`,
    `Put the goal and the order of work into ${plan}, the requirements into ${specs}.\n${start}`,
  )
}

export function specsUnfilled(agent: string, folder: SpecsFolder): UserError {
  const [plan, specs] = REQUIREMENTS.map((name) => `${folder}/${name}`)
  return new UserError(
    `Agent '${agent}' needs specs, but the files in ${folder} are empty or still the unedited templates.`,
    `Describe what to build in ${plan} or ${specs}.`,
  )
}

/** For a task manager without a prompt. */
export function requirementsMissing(agent: string): UserError {
  return new UserError(
    `Agent '${agent}' needs requirements to turn into tasks.`,
    [
      `Pass them as the prompt: forkhestra ${agent}:3 -p "Add a login page", or: forge-task-manager "Add a login page"`,
      'Or write them into forge/orch/specs/SPECS.md (forkhestra init creates a template).',
    ].join('\n'),
  )
}

/** Whether a file of the specs is empty or an unedited template. */
export function isUnfilled(path: string, text: string): boolean {
  return text.trim() === '' || text === STARTER_SPECS[path]
}

/** Templates of the specs, by path. */
export const STARTER_SPECS: Readonly<Record<string, string>> = {
  'forge/orch/specs/PLAN.md': planTemplate,
  'forge/orch/specs/SPECS.md': specsTemplate,
  'forge/orch/specs/AGENTS.md': agentsTemplate,
}
