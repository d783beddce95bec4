import { accessSync, closeSync, constants, existsSync, openSync, readSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { listNames, statOf } from '../base/files.ts'
import { isBareRepository, isInRepository } from '../base/repository.ts'
import type { Facts, ProgramFact } from '../chain/plan/facts.ts'
import { readPromptText } from '../chain/prompts/prompt-file.ts'
import { PROJECT_AGENTS, readAgentFiles, readUserAgents } from './agent-files.ts'
import { ownFolder } from './own-folder.ts'

/** Facts about this machine for planning; `env` is the environment of agents. */
export function readFacts(env: Readonly<Record<string, string | undefined>>): Facts {
  const { PATH: path, IS_SANDBOX: sandbox, CLAUDE_CODE_BUBBLEWRAP: bubblewrap } = env
  const own = ownFolder()
  // With a relative entry, the result would depend on the working directory.
  const searchPath = [...new Set((path ?? '').split(':').filter(isAbsolute))]
  return {
    searchPath,
    programAt,
    programOnPath(name) {
      let unusable: ProgramFact | undefined
      for (const folder of name === '' ? [] : searchPath) {
        const fact = programAt(join(folder, name))
        if (fact.kind === 'program') return fact
        if (fact.kind === 'unusable' && statOf(fact.path)?.isDirectory() !== true) unusable ??= fact
      }
      return unusable ?? { kind: 'missing' }
    },
    namesIn: listNames,
    fileExists: (file) => statOf(file)?.isFile() ?? false,
    mustAsk: process.getuid?.() === 0 && sandbox !== '1' && bubblewrap !== '1',
    isOwnProgram: (program) => own !== undefined && dirname(program) === own,
    isInRepository,
    isBareRepository,
    hasVariable: (name) => (env[name]?.trim() ?? '') !== '',
    readPrompt: readPromptText,
    agentFiles: (cwd) => readAgentFiles(join(cwd, PROJECT_AGENTS), PROJECT_AGENTS),
    userAgentFiles: () => readUserAgents(env),
  }
}

function programAt(path: string): ProgramFact {
  const stat = statOf(path)
  if (stat === undefined) return { kind: 'missing' }
  if (stat.isDirectory())
    return { kind: 'unusable', path, problem: 'is a directory, expected a program' }
  if (!stat.isFile()) return { kind: 'unusable', path, problem: 'is not a regular file' }
  try {
    accessSync(path, constants.X_OK)
  } catch {
    return { kind: 'unusable', path, problem: 'is not executable', hint: `Run: chmod +x ${path}` }
  }
  return readInterpreter(path)
}

/** Checks the interpreter in the first line; as in shells, a script without one is run by sh. */
function readInterpreter(path: string): ProgramFact {
  let head: Buffer
  try {
    head = readHead(path, 256)
  } catch {
    // A program may be executable without being readable; a script may not.
    return { kind: 'program', path }
  }
  const line = head.toString('latin1').split('\n', 1)[0] ?? ''
  if (line.startsWith('#!')) {
    const interpreter = line.slice(2).trim().split(/[ \t]/, 1)[0] ?? ''
    if (line.endsWith('\r')) {
      const hint = 'Save it with Unix line endings (LF).'
      return { kind: 'unusable', path, problem: 'has Windows line endings in its first line', hint }
    }
    if (existsSync(interpreter)) return { kind: 'program', path }
    const problem = `names the interpreter '${interpreter}' in its first line, which does not exist`
    return { kind: 'unusable', path, problem }
  }
  if (isNative(head)) return { kind: 'program', path }
  if (line.includes('\0')) {
    return { kind: 'unusable', path, problem: 'is neither a script nor a program for this system' }
  }
  return { kind: 'program', path, interpreter: '/bin/sh' }
}

function readHead(path: string, length: number): Buffer {
  const fd = openSync(path, 'r')
  try {
    const head = Buffer.alloc(length)
    return head.subarray(0, readSync(fd, head, 0, length, 0))
  } finally {
    closeSync(fd)
  }
}

/** ELF, or one of the Mach-O kinds. */
function isNative(head: Buffer): boolean {
  const magic = head.length < 4 ? 0 : head.readUInt32BE(0)
  return [0x7f454c46, 0xcffaedfe, 0xcefaedfe, 0xcafebabe].includes(magic)
}
