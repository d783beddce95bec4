import { UserError } from '../base/errors.ts'

export type SpecsFolder = 'forge/orch/specs' | 'ralph'

/** The files of a specs folder from which tasks can be made; AGENTS.md alone says nothing to build. */
export const REQUIREMENTS = ['PLAN.md', 'SPECS.md'] as const

/** How a prompt names the folder; it holds for every project, so it names both where both may apply. */
export const SPECS_WORDS: Readonly<Record<SpecsFolder, string>> = {
  'forge/orch/specs': '`forge/orch/specs/` or, where only that exists, `ralph/`',
  ralph: '`ralph/`',
}

/** A chain that plans, in a project that says nowhere what is to be built. */
class SpecsMissing extends UserError {}

/** Where the specs of a project are, of those who look in `wanted`; paths are relative to the project. */
export function findSpecs(
  wanted: SpecsFolder,
  fileExists: (path: string) => boolean,
): SpecsFolder | undefined {
  const folders: readonly SpecsFolder[] = wanted === 'ralph' ? ['ralph'] : [wanted, 'ralph']
  return folders.find((folder) => REQUIREMENTS.some((name) => fileExists(`${folder}/${name}`)))
}

/** Why an agent that plans cannot start, and what to write where. */
export function specsMissing(agent: string, wanted: SpecsFolder): UserError {
  const [plan, specs] = REQUIREMENTS.map((name) => `${wanted}/${name}`)
  const start =
    wanted === 'ralph'
      ? `Write them; or put them into forge/orch/specs, which forkhestra init prepares, and use planner and builder.`
      : `Run forkhestra init, which writes both as templates, and fill them in.`
  return new SpecsMissing(
    `Agent '${agent}' plans from specs, and there are none: neither ${plan} nor ${specs} exists.`,
    `The goal and the order of the work belong into ${plan}, the requirements into ${specs}.\n${start}`,
  )
}

/** The templates say what belongs there, and nothing of what is to be built. */
export function specsUnfilled(agent: string, folder: SpecsFolder): UserError {
  const [plan, specs] = REQUIREMENTS.map((name) => `${folder}/${name}`)
  return new SpecsMissing(
    `Agent '${agent}' plans from specs, and those in ${folder} are still the templates.`,
    `Write what is to be built into ${plan} or ${specs}.`,
  )
}

/** Why a task manager cannot start, and what to type. */
export function requirementsMissing(agent: string): UserError {
  return new SpecsMissing(
    `Agent '${agent}' turns requirements into tasks, and there are none.`,
    [
      `Pass them as the prompt: forkhestra ${agent}:3 -p "Add a login page", or: forge-task-manager "Add a login page"`,
      'Or write them into forge/orch/specs/SPECS.md (templates: forkhestra init).',
    ].join('\n'),
  )
}
