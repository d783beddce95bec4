import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { promptFiles } from '../builtins/agents.ts'
import { findSpecs } from '../builtins/specs.ts'
import { STARTER_CONFIGURATION, STARTER_PERSONAS } from '../builtins/starter-files.ts'
import { STARTER_SPECS } from '../builtins/starter-specs.ts'
import { checkBeginning } from '../setup/project.ts'
import type { Input } from './command.ts'
import { projectOf } from './project.ts'
import { writeAllOrNothing, type NewFile } from './write-all-or-nothing.ts'

/** What a project begins with: what is to be written, and what is left alone and why. */
interface Beginning {
  readonly files: readonly NewFile[]
  readonly left: readonly { readonly path: string; readonly why: string }[]
}

const BUILD = 'forkhestra --chain build-all'

/** The verb `init`. */
export async function initProject(input: Input): Promise<number> {
  const project = projectOf(input)
  checkBeginning(project, 'forkhestra init')
  const { folder: cwd } = project
  const { files, left } = makeBeginning(cwd, input.flag('eject-prompts'))
  writeAllOrNothing(cwd, files)
  if (input.flag('json')) {
    const written = files.map(({ path }) => path)
    console.log(JSON.stringify({ ok: true, written, left, next: BUILD }))
    return 0
  }
  for (const { path } of files) console.log(`Wrote ${path}`)
  for (const { path, why } of left) console.log(`Left alone: ${path} (${why})`)
  console.log(`\n${nextWords(cwd)}\n  ${BUILD}`)
  return 0
}

function makeBeginning(cwd: string, withPrompts: boolean): Beginning {
  const wanted = {
    ...STARTER_CONFIGURATION,
    ...STARTER_SPECS,
    ...STARTER_PERSONAS,
    ...(withPrompts ? Object.fromEntries(promptFiles()) : {}),
  }
  const all = Object.entries(wanted).map(([path, text]) => ({
    path,
    text,
    why: whyLeftAlone(path, cwd),
  }))
  return {
    files: all.filter(({ why }) => why === undefined).map(({ path, text }) => ({ path, text })),
    left: all.flatMap(({ path, why }) => (why === undefined ? [] : [{ path, why }])),
  }
}

function whyLeftAlone(path: string, cwd: string): string | undefined {
  if (isTaken(join(cwd, path))) {
    if (statOf(join(cwd, path))?.isFile()) return 'it is there already'
    throw new UserError(
      `${path} is no file, so it cannot be used as one.`,
      'Move it away. Nothing was written.',
    )
  }
  // A new file would win over the one that counts today, and empty templates over real specs.
  const isThere = fileIn(cwd)
  if (path in STARTER_CONFIGURATION && isThere('forge/chains.json'))
    return 'forge/chains.json counts'
  if (path in STARTER_SPECS && findSpecs('forge/orch/specs', isThere) === 'ralph')
    return 'the specs are in ralph'
  return undefined
}

function fileIn(cwd: string): (path: string) => boolean {
  return (path) => statOf(join(cwd, path))?.isFile() ?? false
}

/** A link that leads nowhere takes the place as well. */
function isTaken(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // A file or a closed door on the way: writing will say which.
    return false
  }
}

function nextWords(cwd: string): string {
  const folder = findSpecs('forge/orch/specs', fileIn(cwd)) ?? 'forge/orch/specs'
  return `Next: write what is to be built into ${folder}/PLAN.md and SPECS.md, and run`
}
