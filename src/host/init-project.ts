import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { writeNewFile } from '../base/atomic-write.ts'
import { UserError, errorText, tryOr } from '../base/errors.ts'
import { readTextFile, statOf, type TextFile } from '../base/files.ts'
import { pathInside } from '../base/places.ts'
import { repositoryTop } from '../base/repository.ts'
import { findForeignLink } from '../base/tracked.ts'
import { promptFiles } from '../chain/builtins/agents.ts'
import { findSpecs, STARTER_SPECS } from '../chain/builtins/specs.ts'
import {
  AGENTS_SECTION,
  STARTER_CONFIGURATION,
  STARTER_PERSONAS,
} from '../chain/builtins/starter-files.ts'
import type { Project } from './project.ts'

interface NewFile {
  /** Relative to the folder that is written to. */
  readonly path: string
  readonly text: string
  /** Append to an existing file. */
  readonly append?: boolean
}

/** Files to write, and files to skip, with the reason. */
interface StarterFiles {
  readonly files: readonly NewFile[]
  readonly left: readonly { readonly path: string; readonly why: string }[]
}

interface Instructions {
  readonly path: string
  readonly file: TextFile
  /** Whether the file has the section about forkhestra. */
  readonly hasSection: boolean
}

const INSTRUCTIONS_LIMIT = 16 * 1024 * 1024

interface InitOptions {
  /** Also writes the built-in prompts, so that they can be edited. */
  readonly withPrompts: boolean
  /** Also describes forkhestra to coding agents. */
  readonly withInstructions: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Writes the initial files of a project, all or none; throws if one cannot be written. */
export function initProject({ folder: cwd }: Project, options: InitOptions) {
  const instructions = readInstructions(cwd)
  const parts = [planStarterFiles(cwd, options.withPrompts)]
  if (options.withInstructions) parts.push(addSection(instructions, cwd))
  const files = parts.flatMap((part) => part.files)
  const left = parts.flatMap((part) => part.left)
  for (const { path } of files) refuseForeignLink(path, cwd, options.env)
  writeAllOrNothing(cwd, files)
  const specs = findSpecs('forge/orch/specs', fileIn(cwd)) ?? 'forge/orch/specs'
  return { files, left, instructions, specs }
}

function planStarterFiles(cwd: string, withPrompts: boolean): StarterFiles {
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

/** The project's instructions for coding agents. A new AGENTS.md must not hide a CLAUDE.md. */
function readInstructions(cwd: string): Instructions {
  const names = ['AGENTS.md', 'CLAUDE.md']
  const path = names.find((name) => isTaken(join(cwd, name))) ?? 'AGENTS.md'
  const file = readTextFile(join(cwd, path), INSTRUCTIONS_LIMIT)
  const heading = AGENTS_SECTION.split('\n', 1)[0]!
  const hasSection = file.kind === 'text' && file.text.split(/\r?\n/).includes(heading)
  return { path, file, hasSection }
}

function addSection({ path, file, hasSection }: Instructions, cwd: string): StarterFiles {
  if (hasSection) return { files: [], left: [{ path, why: 'it already has the section' }] }
  if (!isTaken(join(cwd, path))) return { files: [{ path, text: AGENTS_SECTION }], left: [] }
  // A clone must not choose which of the user's files we write to.
  if (pathInside(path, { cwd }) === undefined)
    throw cannotAdd(path, 'is a link to a location outside the project')
  if (file.kind === 'missing') throw cannotAdd(path, 'is a link to a file that does not exist')
  if (file.kind === 'unusable') throw cannotAdd(path, file.problem)
  const gap = file.text === '' ? '' : file.text.endsWith('\n') ? '\n' : '\n\n'
  return { files: [{ path, text: gap + AGENTS_SECTION, append: true }], left: [] }
}

function cannotAdd(path: string, problem: string): UserError {
  return new UserError(`${path} ${problem}`, 'Fix or move the file. Nothing was written.')
}

/** A clone must not choose where we write files. */
function refuseForeignLink(path: string, cwd: string, env: InitOptions['env']): void {
  const real = realpathSync(cwd)
  const link = findForeignLink(join(real, path), repositoryTop(real) ?? real, env)
  if (link === undefined) return
  throw new UserError(
    `${relative(real, link)} is a link to a location outside the project`,
    'Replace it with a folder, or remove the link from git. Nothing was written.',
  )
}

function whyLeftAlone(path: string, cwd: string): string | undefined {
  if (isTaken(join(cwd, path))) {
    if (statOf(join(cwd, path))?.isFile()) return 'it already exists'
    throw new UserError(
      `${path} is not a regular file.`,
      'Move it out of the way. Nothing was written.',
    )
  }
  // A new file would take precedence over the one in use, and templates over real specs.
  const isFile = fileIn(cwd)
  if (path in STARTER_CONFIGURATION && isFile('forge/chains.json'))
    return 'forge/chains.json is used'
  if (path in STARTER_SPECS && findSpecs('forge/orch/specs', isFile) === 'ralph')
    return 'the specs are in ralph'
  return undefined
}

function fileIn(cwd: string): (path: string) => boolean {
  return (path) => statOf(join(cwd, path))?.isFile() ?? false
}

/** Also true for a broken link. */
function isTaken(path: string): boolean {
  // The write reports the cause: a file in the way, or missing permissions.
  return tryOr(false, () => lstatSync(path, { throwIfNoEntry: false }) !== undefined)
}

/** Not a usage error, so exit code 1. */
class CannotWrite extends UserError {
  override readonly exitCode: number = 1
}

/** Creates files with their folders and appends to existing ones. If one fails, all are undone. */
function writeAllOrNothing(root: string, files: readonly NewFile[]): void {
  const undo: (() => void)[] = []
  for (const { path, text, append } of files) {
    try {
      for (const folder of missingFolders(root, dirname(path))) {
        mkdirSync(folder)
        undo.push(() => rmdirSync(folder))
      }
      const target = join(root, path)
      if (append === true) {
        const { size } = statSync(target)
        undo.push(() => truncateSync(target, size))
        appendFileSync(target, text)
      } else {
        writeNewFile(target, text, { durable: false })
        undo.push(() => rmSync(target))
      }
    } catch (error) {
      for (const step of undo.toReversed()) attempt(step)
      throw new CannotWrite(
        `${path} cannot be written: ${errorText(error)}`,
        `Nothing was written. ${hintFor(error)}`,
      )
    }
  }
}

function hintFor(error: unknown): string {
  return /is not a folder|ENOTDIR/.test(errorText(error))
    ? 'Move or remove the file that is in the way, and retry.'
    : 'Make it writable and retry.'
}

/** Outermost first. */
function missingFolders(root: string, folder: string): string[] {
  const path = join(root, folder)
  if (folder === '.') return []
  const outer = missingFolders(root, dirname(folder))
  const stat = statOf(path)
  if (stat === undefined) return [...outer, path]
  if (stat.isDirectory()) return outer
  throw new Error(`${folder} is not a folder`)
}

function attempt(step: () => void): void {
  try {
    step()
  } catch {
    // Another program has changed it since.
  }
}
