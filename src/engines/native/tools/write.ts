import * as z from 'zod/mini'
import { counted } from '../../../base/amounts.ts'
import { pathInside } from '../../../base/places.ts'
import { shownPath } from '../../../base/terminal/printable.ts'
import { makeDiff } from './diff.ts'
import { readExisting, type Existing } from './existing.ts'
import { path, text } from './fields.ts'
import { BOM, bytesOf, endsWithCrlf, withCrlf } from './line-ends.ts'
import { makeTool } from './make-tool.ts'
import { outside, refused } from './problems.ts'
import { saveFile } from './save.ts'
import { seenFile, type SeenFiles } from './seen.ts'
import type { AgentTool, ToolAnswer, Workspace } from './tool.ts'

const schema = z.strictObject({
  path: path(),
  content: text('the whole content as text'),
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
  const target = pathInside(input.path, workspace)
  if (target === undefined) return outside('write', input.path, workspace)
  return store(input.path, { path: target }, Buffer.from(input.content), seen, workspace)
}

async function replace(
  input: Input,
  existing: Existing,
  seen: SeenFiles,
  workspace: Workspace,
): Promise<ToolAnswer> {
  const known = seen.knows(seenFile(existing.path, existing.bytes))
  const bytes = keepFormat(existing.bytes, input.content)
  if (bytes.equals(existing.bytes))
    return { text: `${shownPath(input.path)} already has this content.` }
  if (existing.bytes.includes(0)) {
    return refused('write', input.path, 'it exists and is a binary file; remove it first')
  }
  if (known === 'not') {
    return refused(
      'write',
      input.path,
      'it exists and was not read in this conversation; read it first',
    )
  }
  if (known === 'a part') {
    const problem = 'only a part of it was read in this conversation; read the rest, or use edit'
    return refused('write', input.path, problem)
  }
  if (known === 'an older state') {
    return refused('write', input.path, 'it has changed since it was read; read it again')
  }
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

interface Target {
  readonly path: string
  readonly bytes?: Buffer
  readonly mode?: number
}

async function store(
  name: string,
  target: Target,
  bytes: Buffer,
  seen: SeenFiles,
  workspace: Workspace,
): Promise<ToolAnswer> {
  const problem = saveFile(target.path, bytes, target.mode, workspace)
  if (problem !== undefined) return refused('write', name, problem)
  const file = seenFile(target.path, bytes)
  seen.note(file)
  const did = target.bytes === undefined ? 'Created' : 'Replaced'
  const diff = await makeDiff(target.path, target.bytes, bytes, workspace)
  return {
    text: `${did} ${shownPath(name)}: ${counted(lineCount(bytes), 'line')}.`,
    diff,
    seen: file,
  }
}

function lineCount(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split('\n')
  return lines.length - (lines.at(-1) === '' ? 1 : 0)
}
