/**
 * Options that keep the user's own filters, such as that of git-lfs, and disable those of the
 * repository: inspecting it must not run code that came with it. Undefined if a name cannot be written
 * as an option. `ask` answers with an empty text if git fails.
 */
export async function ownFilters(
  ask: (args: readonly string[]) => Promise<string>,
): Promise<string[] | undefined> {
  const said = await ask(['config', '-z', '--show-scope', '--get-regexp', String.raw`^filter\.`])
  const [own, foreign] = [new Map<string, string>(), new Set<string>()]
  // Scopes alternate with keys and their values.
  const fields = said.split('\0')
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [key = '', ...value] = fields[at + 1]!.split('\n')
    if (fields[at] === 'local' || fields[at] === 'worktree') foreign.add(key)
    else own.set(key, value.join('\n'))
  }
  if ([...foreign].some((key) => key.includes('='))) return undefined
  return [...foreign].flatMap((key) => {
    const value = own.get(key) ?? (key.endsWith('.required') ? 'false' : '')
    return ['-c', `${key}=${value}`]
  })
}
