/** One path that differs from HEAD. */
export interface Entry {
  /** As the system has it: names of files need not be text. */
  readonly path: Buffer
  /** A submodule, or a repository inside of this one that does not belong to it. */
  readonly isRepository: boolean
}

export interface Status {
  /** Undefined before the first commit. */
  readonly head: string | undefined
  readonly entries: readonly Entry[]
}

/** How many fields of a line stand before the path, by its first one. */
const FIELDS: Readonly<Record<string, number>> = { '1': 8, u: 10, '?': 1 }

/** Where a line of a known path says whether it is one. */
const SUBMODULE = '1 XY '.length

const HEAD = '# branch.oid '

/** Reads what `git status --porcelain=v2 --branch -z --no-renames` says. */
export function parseStatus(said: Buffer): Status {
  let head: string | undefined
  const entries = new Map<string, Entry>()
  // One sign for each byte.
  for (const line of said.toString('latin1').split('\0')) {
    if (line.startsWith(HEAD)) head = line.slice(HEAD.length)
    const fields = FIELDS[line[0] ?? '']
    if (fields === undefined) continue
    const isFolder = line.endsWith('/')
    const path = line.slice(endOfFields(line, fields), isFolder ? -1 : undefined)
    const isRepository = isFolder || (fields > 1 && line[SUBMODULE] === 'S')
    entries.set(path, { path: Buffer.from(path, 'latin1'), isRepository })
  }
  return { head: head === '(initial)' ? undefined : head, entries: [...entries.values()] }
}

function endOfFields(line: string, count: number): number {
  let at = 0
  for (let field = 0; field < count; field++) at = line.indexOf(' ', at) + 1
  return at
}
