// Stands in for `node:path` where `fs.ts` does for `node:fs`: paths of POSIX only, and what is in use.

export const sep = '/'

export function isAbsolute(path: string): boolean {
  return path.startsWith('/')
}

export function join(...parts: readonly string[]): string {
  const whole = parts.filter((part) => part !== '').join('/')
  return whole === '' ? '.' : normalize(whole)
}

export function resolve(...parts: readonly string[]): string {
  let path = ''
  for (let at = parts.length - 1; at >= 0 && !isAbsolute(path); at--) {
    if (parts[at] !== '') path = path === '' ? parts[at]! : `${parts[at]}/${path}`
  }
  const whole = isAbsolute(path) ? path : `${process.cwd()}/${path}`
  const normal = normalize(whole)
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal
}

function normalize(path: string): string {
  // Most paths are normal already; a pattern would take longer to make than all of this.
  const mayBeOdd = path.includes('//') || path.includes('/.') || path.startsWith('.')
  if (!mayBeOdd) return path
  const root = isAbsolute(path) ? '/' : ''
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (root === '') parts.push(part)
  }
  const body = parts.join('/')
  if (body === '') return root === '' ? (path.endsWith('/') ? './' : '.') : root
  return `${root}${body}${path.endsWith('/') ? '/' : ''}`
}

function withoutEnd(path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end--
  return path.slice(0, end)
}

export function dirname(path: string): string {
  const at = withoutEnd(path).lastIndexOf('/')
  if (at === -1) return '.'
  if (at === 0) return '/'
  return at === 1 && isAbsolute(path) ? '//' : path.slice(0, at)
}

export function basename(path: string): string {
  const whole = withoutEnd(path)
  return whole === '/' ? '' : whole.slice(whole.lastIndexOf('/') + 1)
}

export function relative(from: string, to: string): string {
  const [source, target] = [from, to].map((path) => resolve(path).split('/').filter(Boolean))
  let shared = 0
  while (shared < source!.length && source![shared] === target![shared]) shared++
  return [...source!.slice(shared).map(() => '..'), ...target!.slice(shared)].join('/')
}
