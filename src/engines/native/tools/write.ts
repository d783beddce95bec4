import * as z from 'zod/mini'
import { counted } from '../../../base/amounts.ts'
import { pathInside } from '../../../base/places.ts'
import { shownPath } from '../../../base/terminal/printable.ts'
import { makeDiff, readExisting, saveFile, type Existing } from './change-file.ts'
import { BOM, bytesOf, endsWithCrlf, withCrlf } from './line-ends.ts'
import { makeTool, pathField, textField } from './make-tool.ts'
import { refuseOutside, refuse } from './problems.ts'
import { seenFile, type SeenFiles } from './seen.ts'
import type { AgentTool, ToolAnswer, Workspace } from './tool.ts'

const schema = z.strictObject({
  path: pathField(),
  content: textField('the whole content as text'),
})

type Input = z.output<typeof schema>

export function makeWriteTool(seen: SeenFiles): AgentTool {
  return makeTool({
    name: 'write',
    description:
      'Creates a file, with its folders, or replaces all of its content. An existing file must have been read completely before; prefer edit for changes.',
    schema,
    brief: (input) => input.path,
    call: async (input, workspace) => {
      const existing = readExisting('write', input.path, workspace)
      if (!('answer' in existing)) return replace(input, existing, seen, workspace)
      return existing.missing ? create(input, seen, workspace) : existing.answer
    },
  })
}

async function create(input: Input, seen: SeenFiles, workspace: Workspace): Promise<ToolAnswer> {
  const path = pathInside(input.path, workspace)
  if (path === undefined) return refuseOutside('write', input.path, workspace)
  return store(input.path, { path }, Buffer.from(input.content), seen, workspace)
}

/** Why a file must not be replaced, by how much of it the conversation has seen. */
const PROBLEMS = {
  not: 'it exists and was not read in this conversation; read it first',
  'a part': 'only a part of it was read in this conversation; read the rest, or use edit',
  'an older state': 'it has changed since it was read; read it again',
  yes: undefined,
} as const

async function replace(
  input: Input,
  existing: Existing,
  seen: SeenFiles,
  workspace: Workspace,
): Promise<ToolAnswer> {
  const bytes = keepFormat(existing.bytes, input.content)
  if (bytes.equals(existing.bytes))
    return { text: `${shownPath(input.path)} already has this content.` }
  const problem = existing.bytes.includes(0)
    ? 'it exists and is a binary file; remove it first'
    : PROBLEMS[seen.knows(seenFile(existing.path, existing.bytes))]
  if (problem !== undefined) return refuse('write', input.path, problem)
  return store(input.path, existing, bytes, seen, workspace)
}

/** Keeps the byte order mark and the line ends, which a model does not see. */
function keepFormat(before: Buffer, content: string): Buffer {
  const old = before.toString('latin1')
  const lines = bytesOf(content)
  const ended = endsWithCrlf(old) && !lines.includes('\r') ? withCrlf(lines) : lines
  const mark = old.startsWith(BOM) && !ended.startsWith(BOM) ? BOM : ''
  return Buffer.from(mark + ended, 'latin1')
}

async function store(
  name: string,
  target: Pick<Existing, 'path'> & Partial<Existing>,
  bytes: Buffer,
  seen: SeenFiles,
  workspace: Workspace,
): Promise<ToolAnswer> {
  const problem = saveFile(target.path, bytes, target.mode, workspace)
  if (problem !== undefined) return refuse('write', name, problem)
  const file = seenFile(target.path, bytes)
  seen.note(file)
  const did = target.bytes === undefined ? 'Created' : 'Replaced'
  const lines = bytes.toString('latin1').split('\n')
  const count = lines.length - (lines.at(-1) === '' ? 1 : 0)
  return {
    text: `${did} ${shownPath(name)}: ${counted(count, 'line')}.`,
    diff: await makeDiff(target.path, target.bytes, bytes, workspace),
    seen: file,
  }
}
